"""A proxy of the OpenAI API: adds memory to requests, asks the real endpoint, and stores the conversation."""
