"""Models compared on test rows: perplexity, topics, coherence, LDA (section 6.2)."""
