// SPDX-License-Identifier: Apache-2.0
// The domains that evaluation is compiled for; every .cpp of this folder instantiates its templates for each.
#pragma once

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"

#define PLUMB_FOR_EACH_DOMAIN(apply) apply(::plumb::domain::Ieee) apply(::plumb::domain::Field)
