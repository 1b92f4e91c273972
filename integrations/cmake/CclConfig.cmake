# The CMake package `Ccl`: finds `cclc` and gives projects the commands of `CclPlans.cmake`.
#
# After `find_package(Ccl)`: the target `Ccl::cclc`, the variable `Ccl_CCLC`, which you may also set before to use another
# compiler than the one next to this package, and the commands `ccl_add_plan`, `ccl_add_plans`, `ccl_add_check`.

# For dependency files with both generators, and for policies that define how paths in them are interpreted.
if(CMAKE_VERSION VERSION_LESS 3.21)
    set(Ccl_FOUND FALSE)
    set(Ccl_NOT_FOUND_MESSAGE "Ccl needs CMake 3.21, for dependency files under Makefiles")
    return()
endif()

# share/cmake/Ccl in an install tree whose programs are in bin.
get_filename_component(_ccl_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_program(Ccl_CCLC NAMES cclc HINTS "${_ccl_prefix}/bin" DOC "The ccl compiler")
unset(_ccl_prefix)
if(NOT Ccl_CCLC)
    set(Ccl_FOUND FALSE)
    set(Ccl_NOT_FOUND_MESSAGE "there is no cclc in the bin of its install tree or on PATH; -DCcl_CCLC=PATH names one")
    return()
endif()

# It may have been named wrongly, or found by an earlier configuration and moved since.
if(NOT EXISTS "${Ccl_CCLC}" OR IS_DIRECTORY "${Ccl_CCLC}")
    set(Ccl_FOUND FALSE)
    set(Ccl_NOT_FOUND_MESSAGE "Ccl_CCLC is `${Ccl_CCLC}`, where no program is; -DCcl_CCLC=PATH names one, -UCcl_CCLC searches again")
    return()
endif()

if(NOT TARGET Ccl::cclc)
    add_executable(Ccl::cclc IMPORTED GLOBAL)
    set_target_properties(Ccl::cclc PROPERTIES IMPORTED_LOCATION "${Ccl_CCLC}")
endif()

include("${CMAKE_CURRENT_LIST_DIR}/CclPlans.cmake")
set(Ccl_FOUND TRUE)
