// SPDX-License-Identifier: GPL-2.0
/*
 * In every plugin's file, for sch-aqm-doctor, which reads it there: a plugin
 * and a module of different versions may not understand each other.
 */

static const char version[] __attribute__((used)) = "sch-aqm version " AQM_VERSION;
