"""Opening data: samples, uploads, projects."""
