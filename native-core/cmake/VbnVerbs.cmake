# SPDX-License-Identifier: Apache-2.0
# Headers of libibverbs and librdmacm (Debian: libibverbs-dev librdmacm-dev). The libraries themselves are opened at run time
# and never linked.
find_path(VBN_VERBS_INCLUDE NAMES infiniband/verbs.h)
find_path(VBN_RDMACM_INCLUDE NAMES rdma/rdma_cma.h)
option(VBN_VERBS "transports rc and ud over libibverbs" ON)
if(VBN_VERBS AND NOT (VBN_VERBS_INCLUDE AND VBN_RDMACM_INCLUDE))
    message(STATUS "RDMA (transports rc and ud) is left out: infiniband/verbs.h or rdma/rdma_cma.h was not found; install "
                   "libibverbs-dev and librdmacm-dev")
    set(VBN_VERBS OFF)
endif()

# Takes the transports over verbs out of a list of sources, or else what stands in for them.
function(vbn_without_verbs list)
    if(VBN_VERBS)
        list(FILTER ${list} EXCLUDE REGEX "/src/tl/noverbs/")
    else()
        list(FILTER ${list} EXCLUDE REGEX "/src/tl/(verbs|rc|ud)/")
    endif()
    set(${list} ${${list}} PARENT_SCOPE)
endfunction()
