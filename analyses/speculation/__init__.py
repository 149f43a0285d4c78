"""What speculative decode gives, and what another k or another step would."""
