"""What the wire allows: one module an interconnect, the same functions with the same parameters.

``ethernet``, ``infiniband``, ``roce`` and ``rapidio`` each have a frozen ``Framing`` with the
choices of that link, and the functions ``packets``, ``wire_bits``, ``max_goodput_bps``,
``send_interval_s``, ``min_latency_s``, ``aligned``, ``aligned_payloads``, ``stream_goodput_bps``
and ``max_payload_bytes``. Where a payload is asked for, an int or an array of ints is taken and a
numpy array of the same shape returned: shape ``()`` for an int, which ``int()`` or ``float()``
opens. Line rates are data rates after coding, in bits per second.
"""
