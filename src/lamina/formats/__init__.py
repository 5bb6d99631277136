"""Files out and in: JSON Lines, the readable folder, session markdown, and other tools' exports."""
