# SPDX-License-Identifier: GPL-2.0
"""Draw the same numbers as include/aqm/seeded_random.h, for models.

The generator is LFSR113 (P. L'Ecuyer, "Tables of maximally equidistributed combined LFSR
generators", 1999), which Linux has as prandom_u32_state().
"""

from __future__ import annotations

_WORD = 0xFFFFFFFF

# Per register: smallest start value, then the shifts q and b, the bits kept, and the step.
_REGISTERS = ((2, 6, 13, 31, 18), (8, 2, 27, 29, 2), (16, 13, 21, 28, 7), (128, 3, 12, 25, 13))

_DISCARD = 10


class SeededRandom:
    """A sequence that `seed` (1 to 2^32 - 1) repeats."""

    def __init__(self, seed: int) -> None:
        """Start the sequence as the kernel does. Seed 0 is invalid; there it means entropy."""
        if not 1 <= seed <= _WORD:
            raise ValueError(f"seed: {seed} given, allowed: 1 to {_WORD}")
        start = ((seed >> 32) ^ (seed << 10) ^ seed) & _WORD
        self._state = [start + least if start < least else start for least, *_ in _REGISTERS]
        for _ in range(_DISCARD):
            self.u32()

    def u32(self) -> int:
        """Draw uniformly from 0 to 2^32 - 1."""
        out = 0
        for i, (_, q, b, keep, step) in enumerate(_REGISTERS):
            s = self._state[i]
            mask = (_WORD << (32 - keep)) & _WORD
            s = ((s & mask) << step & _WORD) ^ ((((s << q) & _WORD) ^ s) >> b)
            self._state[i] = s
            out ^= s
        return out

    def below(self, n: int) -> int:
        """Draw from 0 to n - 1."""
        return self.u32() * n >> 32
