# SPDX-License-Identifier: GPL-2.0
# Read NAME=VALUE words from the command line into the array `of`, which has all names with their defaults.
foreach word $argv {
	lassign [split $word =] name value
	if {![info exists of($name)] || $value eq ""} {
		puts stderr "$word given, needs NAME=VALUE, where NAME is one of [lsort [array names of]]"
		exit 2
	}
	set of($name) $value
}
