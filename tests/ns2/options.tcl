# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts for ns-2.35: options are "-name value", their defaults in the array opt.

proc read_options {arguments} {
    global opt
    foreach {name value} $arguments {
        set name [string trimleft $name -]
        if {![info exists opt($name)]} {
            puts stderr "unknown option -$name; one of: [lsort [array names opt]]"
            exit 2
        }
        set opt($name) $value
    }
}
