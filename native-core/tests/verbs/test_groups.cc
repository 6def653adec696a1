// SPDX-License-Identifier: Apache-2.0
// test_groups.cc - multicast groups over ud: who gets what, whose address will do, what strangers send, what is left behind.
#include <set>

#include "traffic.h"
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

using multi::Half;
using verbs::counted;
using verbs::in_fabric;
using verbs::says;

namespace {

/* What one worker has heard of a group. */
struct Member {
    vbn_group_t *group = nullptr;
    std::vector<std::string> heard;
    std::set<uint64_t> sources;
    bool leaves = false;

    static void on_data(void *arg, vbn_group_t *group, uint64_t source, const void *data, size_t length)
    {
        auto *self = static_cast<Member *>(arg);
        MUST(group == self->group);
        self->heard.emplace_back(static_cast<const char *>(data), length);
        self->sources.insert(source);
        if (self->leaves)
            vbn_group_leave(self->group);
    }
    vbn_status_t join(Half &half, const char *address = "239.1.2.3")
    {
        return vbn_group_join(half.worker, address, on_data, this, &group);
    }
    vbn_status_t send(const std::string &text)
    {
        iovec iov[2] = {{const_cast<char *>(text.data()), text.size() / 2},
                        {const_cast<char *>(text.data()) + text.size() / 2, text.size() - text.size() / 2}};
        return vbn_group_send(group, iov, 2);
    }
};

/* Three workers, the third one on another device. */
struct Three : multi::Pair {
    Half c;

    explicit Three(const char *transports) : multi::Pair((setenv("VBN_TL_VERBS_DEVICE", "fab0", 1), transports))
    {
        setenv("VBN_TL_VERBS_DEVICE", "fab1", 1);
        MUST(c.open(transports) == VBN_OK);
    }
    bool all_until(const std::function<bool()> &condition)
    {
        return until([&] { return (void)vbn_progress(c.worker), condition(); });
    }
    void rest()
    {
        for (unsigned i = 0; i < 200; i++) {
            turn();
            (void)vbn_progress(c.worker);
        }
    }
    void close_all()
    {
        c.close();
        close();
    }
};

void send_all(multi::Pair &pair, Member &from, const std::string &text)
{
    vbn_status_t status;
    while ((status = from.send(text)) == VBN_BUSY)
        pair.turn();
    MUST(status == VBN_OK);
}

class VerbsGroups : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsGroups, bring_each_datagram_to_all_other_members_with_its_source)
{
    in_fabric(2, [] {
        Three three(GetParam());
        Member a, b, c;
        MUST(a.join(three.a) == VBN_OK && b.join(three.b) == VBN_OK && c.join(three.c) == VBN_OK);
        MUST(fabric_counts.groups == 3 && vbn_group_most(a.group) == 4096 - 32);
        std::string large(vbn_group_most(a.group), 'x');
        send_all(three, a, "");
        send_all(three, a, "hello");
        send_all(three, c, large);
        MUST(three.all_until([&] { return b.heard.size() == 3 && c.heard.size() == 2 && a.heard.size() == 1; }));
        three.rest();
        MUST(b.heard.size() == 3 && b.sources.size() == 2 && a.sources.size() == 1 && a.heard[0] == large);
        MUST(c.heard[0].empty() && c.heard[1] == "hello" && c.sources == std::set<uint64_t>{*c.sources.begin()});
        MUST(three.a.connect(three.c) == VBN_OK &&
             three.all_until([&] { return a.sources.count(vbn_peer_uid(three.a.peer)) == 1; }));
        MUST(a.send(large + "y") == VBN_ERR_INVALID && says(vbn_error_text(), "at most 4064 bytes"));
        MUST(counted(three.a, "rx.bad_frames") + counted(three.b, "rx.bad_frames") +
                 counted(three.c, "rx.bad_frames") ==
             0);
        three.close_all();
    });
}

TEST_P(VerbsGroups, many_datagrams_are_sent_with_one_completion_for_many_and_wait_for_room)
{
    in_fabric(2, [] {
        Three three(GetParam());
        Member a, b;
        MUST(a.join(three.a) == VBN_OK && b.join(three.b) == VBN_OK);
        for (unsigned i = 0; i < 2000; i++)
            send_all(three, a, std::to_string(i));
        MUST(three.all_until([&] { return b.heard.size() == 2000; }));
        for (unsigned i = 0; i < 2000; i++)
            MUST(b.heard[i] == std::to_string(i));
        three.close_all();
    });
}

TEST_P(VerbsGroups, those_who_left_or_joined_another_group_get_nothing)
{
    in_fabric(2, [] {
        Three three(GetParam());
        Member a, b, c, other;
        MUST(a.join(three.a) == VBN_OK && b.join(three.b) == VBN_OK && c.join(three.c, "239.1.2.4") == VBN_OK);
        MUST(other.join(three.a) == VBN_ERR_INVALID && says(vbn_error_text(), "joined that group already"));
        MUST(other.join(three.a, "239.1.2.4") == VBN_OK);
        send_all(three, other, "four");
        send_all(three, a, "three");
        MUST(three.all_until([&] { return b.heard.size() == 1 && c.heard.size() == 1; }));
        MUST(b.heard[0] == "three" && c.heard[0] == "four");
        vbn_group_leave(b.group);
        b.group = nullptr;
        MUST(fabric_counts.groups == 3);
        send_all(three, a, "gone");
        three.rest();
        MUST(b.heard.size() == 1);
        MUST(b.join(three.b) == VBN_OK);
        b.leaves = true; /* in its own call */
        for (unsigned i = 0; i < 10; i++)
            send_all(three, a, "last");
        MUST(three.all_until([&] { return b.heard.size() == 2; }));
        three.rest();
        MUST(b.heard.size() == 2 && fabric_counts.groups == 3);
        three.close_all();
    });
}

TEST_P(VerbsGroups, beside_them_peers_talk_as_ever_also_when_datagrams_are_lost_and_doubled)
{
    in_fabric(2, [] {
        fabric_script.drop_ppm = fabric_script.double_ppm = 100000;
        Three three(GetParam());
        Member a, b;
        MUST(a.join(three.a) == VBN_OK && b.join(three.b) == VBN_OK);
        verbs::Traffic traffic(three);
        for (unsigned i = 0; i < 500; i++) {
            send_all(three, a, "cast");
            traffic.send();
            three.turn();
        }
        traffic.all_arrive();
        three.rest();
        MUST(b.heard.size() > 300 && b.heard.size() < 700);
        three.close_all();
    });
}

TEST_P(VerbsGroups, what_strangers_send_is_dropped_and_counted)
{
    in_fabric(2, [] {
        Three three(GetParam());
        Member a, b;
        MUST(a.join(three.a) == VBN_OK && b.join(three.b) == VBN_OK);
        uint8_t good[36] = {1, 2, 0, 0, 0, 0, 0, 0, 9,    9,    9,   9, 9, 9, 9,   9,   0,   0,
                            0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 239, 1, 2, 3, 'g', 'o', 'o', 'd'};
        fabric_inject(good, sizeof(good));
        MUST(three.all_until([&] { return a.heard.size() == 1 && b.heard.size() == 1; }) && a.heard[0] == "good");
        uint64_t bad = counted(three.a, "rx.bad_frames");
        auto inject_bad = [&](size_t at, uint8_t value, unsigned length) {
            uint8_t bytes[36];
            std::memcpy(bytes, good, sizeof(good));
            bytes[at] = value;
            fabric_inject(bytes, length);
            MUST(three.all_until([&] { return counted(three.a, "rx.bad_frames") == bad + 1; }));
            bad++;
        };
        for (unsigned length = 0; length < 32; length++)
            inject_bad(0, 1, length);
        for (size_t at = 0; at < 8; at++)
            inject_bad(at, 3, 36);
        inject_bad(28, 10, 36); /* no group */
        inject_bad(16, 1, 36);
        std::memset(good + 8, 0, 8); /* nobody's */
        inject_bad(0, 1, 36);
        std::memset(good + 8, 9, 8);
        good[31] = 4; /* a group, but not ours */
        fabric_inject(good, sizeof(good));
        three.rest();
        MUST(a.heard.size() == 1 && b.heard.size() == 1 && counted(three.a, "rx.bad_frames") == bad);
        three.close_all();
    });
}

TEST_P(VerbsGroups, go_on_when_the_link_was_down_or_the_address_changed_and_say_so_when_the_device_is_gone)
{
    in_fabric(2, [] {
        Three three(GetParam());
        Member a, b;
        MUST(a.join(three.a) == VBN_OK && b.join(three.b) == VBN_OK);
        fabric_script.link_down = true;
        for (unsigned i = 0; i < 300; i++) {
            send_all(three, a, "lost");
            three.turn();
        }
        MUST(b.heard.empty());
        fabric_script.link_down = false;
        MUST(three.all_until([&] { return send_all(three, a, "again"), !b.heard.empty(); }));
        fabric_script.moved[0] = 1;
        fabric_event(0, IBV_EVENT_GID_CHANGE);
        MUST(three.all_until([&] { return three.a.log.find("has changed from") != std::string::npos; }));
        size_t heard = b.heard.size();
        MUST(three.all_until([&] { return send_all(three, a, "moved"), b.heard.size() > heard; }));
        fabric_kill_device(0);
        MUST(three.all_until([&] { return a.send("dead") < 0; }) && says(vbn_error_text(), "fab0:1 is gone"));
        three.close_all();
    });
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsGroups, ::testing::Values("ud", "rc,ud"),
                         [](const auto &each) { return multi::way_name(each.param); });

TEST(VerbsGroups, addresses_that_will_not_do_are_refused_with_the_reason)
{
    in_fabric(1, [] {
        Half half, none;
        Member member;
        MUST(half.open("ud") == VBN_OK && none.open("tcp") == VBN_OK);
        MUST(member.join(none) == VBN_ERR_UNSUPPORTED && says(vbn_error_text(), "tl.enable=tcp has multicast groups"));
        MUST(member.join(half, "239.1.2") == VBN_ERR_INVALID && says(vbn_error_text(), "write it as 239.1.2.3"));
        MUST(member.join(half, "10.1.2.3") == VBN_ERR_INVALID && says(vbn_error_text(), "not a multicast address"));
        MUST(member.join(half, "fe80::1") == VBN_ERR_INVALID && says(vbn_error_text(), "not a multicast address"));
        MUST(member.join(half, "ff15::1") == VBN_ERR_UNSUPPORTED && says(vbn_error_text(), "name an IPv4 group"));
        char address[16];
        unsigned joined = 0;
        for (; joined < 9; joined++) { /* as many as the device has room for */
            std::snprintf(address, sizeof(address), "239.0.0.%u", joined + 1);
            if (member.join(half, address) < 0)
                break;
        }
        MUST(joined == 8 && says(vbn_error_text(), "multicast group on fab0:1") && fabric_counts.groups == 8);
        half.close();
        none.close();
    });
    in_fabric(1, [] {
        setenv("VBN_TL_VERBS_DEVICE", "fab0:1:1", 1); /* an IPv6 address */
        Half half;
        Member member;
        MUST(half.open("ud") == VBN_OK);
        MUST(member.join(half, "239.1.2.3") == VBN_ERR_UNSUPPORTED && says(vbn_error_text(), "name an IPv6 group"));
        MUST(member.join(half, "ff15::1") == VBN_OK && says(half.log, "the network was not told"));
        half.close();
    });
}

TEST(VerbsGroups, on_infiniband_work_when_the_subnet_manager_has_said_where_they_are)
{
    for (const char *address : {"239.1.2.3", "ff15::7"})
        in_fabric(1, [&] {
            fabric_script.infiniband = true;
            multi::Pair pair("ud");
            Member a, b, other;
            MUST(a.join(pair.a, address) == VBN_OK && b.join(pair.b, address) == VBN_OK);
            MUST(fabric_counts.groups == 0 && fabric_counts.cm_ids == 2);
            send_all(pair, a, "too early");
            MUST(pair.until([&] { return fabric_counts.groups == 2; }));
            send_all(pair, a, "hello");
            MUST(pair.until([&] { return b.heard.size() == 1; }) && b.heard[0] == "hello");
            MUST(says(pair.a.log, "by the subnet manager") && says(pair.a.log, "LID 0xc00"));
            fabric_script.moved[0] = 1;
            fabric_event(0, IBV_EVENT_LID_CHANGE);
            MUST(pair.until([&] { return pair.a.log.find("has changed from") != std::string::npos; }));
            MUST(pair.until([&] { return send_all(pair, a, "moved"), b.heard.size() > 3; }));
            vbn_group_leave(a.group);
            MUST(fabric_counts.groups == 1 && fabric_counts.cm_ids == 1);
            fabric_script.cm_fails = true;
            fabric_script.cm_event = RDMA_CM_EVENT_MULTICAST_ERROR;
            MUST(other.join(pair.a, "239.9.9.9") == VBN_OK);
            MUST(pair.until([&] { return other.send("x") < 0; }) && says(vbn_error_text(), "gives no membership"));
            pair.close();
        });
}

TEST(VerbsGroups, on_infiniband_without_an_ip_address_name_what_is_missing)
{
    in_fabric(1, [] {
        fabric_script.infiniband = true;
        Half half;
        Member member;
        MUST(half.open("ud") == VBN_OK);
        fabric_script.no_address[0] = true;
        MUST(member.join(half) == VBN_ERR_UNSUPPORTED && says(vbn_error_text(), "ip addr add A/24 dev ib0"));
        MUST(fabric_counts.cm_ids + fabric_counts.cm_channels + fabric_counts.groups == 0);
        half.close();
    });
}

} // namespace
