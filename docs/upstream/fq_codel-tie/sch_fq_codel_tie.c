// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's fq_codel with 0001-*.patch, under another name so that both can run side by side.
 * Kbuild makes patched.inc, which has MODULE_ALIAS_NET_SCH("fq_codel_tie").
 */
#include "patched.inc"

/* Makes the build put a hash of the source into the module, which runs record. */
MODULE_VERSION("patched");
