"""What all pages share: session state, caches and their keys, links, messages, background work."""
