"""The certificate as one self-contained HTML page."""
