/* SPDX-License-Identifier: Apache-2.0
 * boost.cc - Boost.MPI: objects that it serialises, operations of its own, requests, skeletons.
 */
#include <boost/mpi.hpp>
#include <boost/mpi/skeleton_and_content.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <cstdio>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace mpi = boost::mpi;

struct Point {
    double x = 0;
    int weight = 0;
    template <class Archive> void serialize(Archive &archive, const unsigned) { archive & x & weight; }
};

struct Sum {
    Point operator()(const Point &a, const Point &b) const { return {a.x + b.x, a.weight + b.weight}; }
};

BOOST_IS_MPI_DATATYPE(Point)

static long texts(const mpi::communicator &world)
{
    const int next = (world.rank() + 1) % world.size(), before = (world.rank() + world.size() - 1) % world.size();
    std::map<std::string, std::vector<int>> sent{{"rank", std::vector<int>(world.rank() + 1, world.rank())}}, got;
    mpi::request requests[] = {world.irecv(before, 1, got), world.isend(next, 1, sent)};
    mpi::wait_all(requests, requests + 2);
    std::vector<std::string> all;
    mpi::all_gather(world, std::string(got["rank"].size(), 'x'), all);
    long characters = 0;
    for (const auto &one : all)
        characters += static_cast<long>(one.size());
    return characters;
}

/* The shape is sent once, then only what it contains. */
static long shapes(const mpi::communicator &world)
{
    std::vector<int> list(world.rank() == 0 ? 100 : 0);
    mpi::broadcast(world, mpi::skeleton(list), 0);
    for (std::size_t i = 0; world.rank() == 0 && i < list.size(); i++)
        list[i] = static_cast<int>(i);
    mpi::content content = mpi::get_content(list);
    mpi::broadcast(world, content, 0);
    long sum = 0;
    for (int one : list)
        sum += one;
    return mpi::all_reduce(world, sum, std::plus<long>());
}

int main(int argc, char **argv)
{
    mpi::environment environment(argc, argv);
    mpi::communicator world;
    const Point sum = mpi::all_reduce(world, Point{0.5 * world.rank(), 1}, Sum());
    const long characters = texts(world), contents = shapes(world);
    mpi::communicator half = world.split(world.rank() % 2);
    const int most = mpi::all_reduce(half, world.rank(), mpi::maximum<int>());
    const int total = mpi::all_reduce(world, most, std::plus<int>());
    if (world.rank() == 0)
        std::printf("result %g %d %ld %ld %d\n", sum.x, sum.weight, characters, contents, total);
    return 0;
}
