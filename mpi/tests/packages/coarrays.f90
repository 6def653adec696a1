! SPDX-License-Identifier: Apache-2.0
! Coarrays, which OpenCoarrays carries out by windows and collectives.
program coarrays
  implicit none
  integer :: mine[*], counted[*], image, total
  real :: a(100)[*]
  mine = this_image()
  counted = 0
  a = this_image()
  sync all
  total = 0
  do image = 1, num_images()
    total = total + mine[image]
  end do
  if (total /= num_images() * (num_images() + 1) / 2) error stop 'get'
  critical
    counted[1] = counted[1] + 1
  end critical
  sync all
  if (this_image() == 1 .and. counted /= num_images()) error stop 'critical'
  if (this_image() > 1) a(1:50:2)[this_image() - 1] = -1.0
  sync all
  if (this_image() < num_images() .and. any(a(1:50:2) /= -1.0)) error stop 'put'
  call co_sum(total)
  if (this_image() == 1) print *, 'total', total
end program
