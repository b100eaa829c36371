"""The API: a file a subject. Routes check the shape of what comes in, and leave the rest to the market."""
