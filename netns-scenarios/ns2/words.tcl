# SPDX-License-Identifier: GPL-2.0
# The words of a command line, NAME=VALUE, into the array `of`, which has all names and their defaults.
foreach word $argv {
	lassign [split $word =] name value
	if {![info exists of($name)] || $value eq ""} {
		puts stderr "$word: not NAME=VALUE with one of [lsort [array names of]]"
		exit 2
	}
	set of($name) $value
}
