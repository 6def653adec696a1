// SPDX-License-Identifier: Apache-2.0
// test_calls.cc - random calls of every public function (tests/multi/calls.h) over the verbs transports and the scripted
// libibverbs, with devices that grant less, answer late, lose, double. A seed that fails is printed; VBN_TEST_SEED=n
// repeats it alone.
#include "../multi/calls.h"
#include "checks.h"
#include "full.h"
#include <infiniband/verbs.h>

namespace {

struct Case {
    const char *name;
    const char *transports;
    void (*script)();
};

class VerbsCalls : public ::testing::TestWithParam<Case> {};

TEST_P(VerbsCalls, of_every_function_in_any_order_keep_what_they_promise)
{
    multi::Seeds seeds(usual_or_full(5, 12));
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        int code = verbs::with_fabric(1, [&] {
            setenv("VBN_LINK_PROMOTE_AFTER", "8", 1);
            fabric_script.seed = seed;
            GetParam().script();
            multi::World world(GetParam().transports, seed);
            world.run(600);
            world.close();
        });
        ASSERT_EQ(code, 0) << "seed " << seed << " over " << GetParam().name << "; VBN_TEST_SEED=" << seed
                           << " repeats it";
    }
}

void nothing_special() {}
void classic()
{
    fabric_script.classic = true;
}
void nothing_inline()
{
    fabric_script.inline_max = 0;
}
void infiniband()
{
    fabric_script.infiniband = true;
}
void late()
{
    fabric_script.late_ppm = 300000;
}
void small_mtu()
{
    fabric_script.mtu = 1024;
}
void breaks()
{
    fabric_script.fail_status = IBV_WC_RETRY_EXC_ERR;
    fabric_script.fail_request_at = 10 + static_cast<unsigned>(fabric_script.seed) * 17;
}
/* Without it one lane alone does nothing by devices. */
void resumes()
{
    setenv("VBN_LINK_RESUME_TIMEOUT", "20s", 1);
}
void resumes_breaks()
{
    resumes();
    breaks();
}
void cm()
{
    resumes();
    setenv("VBN_TL_VERBS_CONNECT", "cm", 1);
}
void cm_breaks()
{
    cm();
    breaks();
}
void iwarp()
{
    resumes();
    fabric_script.iwarp = true;
}
void very_lossy()
{
    fabric_script.drop_ppm = 100000;
}
void lossy()
{
    fabric_script.drop_ppm = 10000;
    fabric_script.double_ppm = 10000;
}

INSTANTIATE_TEST_SUITE_P(
    Over, VerbsCalls,
    ::testing::Values(Case{"ud", "ud", nothing_special}, Case{"ud_small_mtu", "ud", small_mtu},
                      Case{"ud_lossy", "ud", lossy}, Case{"ud_classic", "ud", classic},
                      Case{"ud_very_lossy", "ud", very_lossy}, Case{"ud_infiniband", "ud", infiniband},
                      Case{"rc", "rc", nothing_special}, Case{"rc_classic", "rc", classic},
                      Case{"rc_nothing_inline", "rc", nothing_inline}, Case{"rc_late", "rc", late},
                      Case{"rc_lossy_signals", "rc", lossy}, Case{"rc_resumes", "rc", resumes}, Case{"rc_cm", "rc", cm},
                      Case{"rc_cm_breaks", "rc", cm_breaks}, Case{"rc_iwarp", "rc", iwarp},
                      Case{"hybrid_cm", "rc,ud", cm}, Case{"rc_resumes_breaks", "rc", resumes_breaks},
                      Case{"hybrid", "rc,ud", nothing_special}, Case{"hybrid_lossy", "rc,ud", lossy},
                      Case{"hybrid_breaks", "rc,ud", breaks}),
    [](const auto &each) { return std::string(each.param.name); });

} // namespace
