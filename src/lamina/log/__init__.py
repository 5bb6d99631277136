"""What was said: messages read, chained, appended; turns and tool pairs kept together."""
