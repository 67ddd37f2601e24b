/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOPLAB_ELFN_ICMP_H
#define HOPLAB_ELFN_ICMP_H

#include "namespace.h"

int elfn_hook(struct elfn_net *en, bool on);

#endif
