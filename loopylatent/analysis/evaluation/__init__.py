"""Model comparison on held-out rows: perplexity, topics, coherence, LDA (section 6.2)."""
