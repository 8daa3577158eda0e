"""Moving file bytes: content that can be read again, downloads and uploads that resume; imports `model` only."""
