"""The sidecar, call by call: what each call is made of, what the step waits for, where there is headroom."""
