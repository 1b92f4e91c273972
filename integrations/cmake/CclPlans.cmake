# Commands that make plans and kernels of ccl programs part of a build.
#
# Relative paths of inputs start in the current source folder, those of outputs in the current binary folder.
# Dependency files say what a program imports, so an edited import rebuilds only the files that depend on it.

include_guard(GLOBAL)

# ccl_add_plan(TARGET target SOURCE file.ccl
#              [PROGRAM name]               the program, if the file has several
#              [NAME name]                  the plan's name and the stem of its files [default: the target]
#              [DEFINE name=value ...]      parameters
#              [OPTION name=value ...]      options
#              [EMIT plan|map|manifest|cuda ...]   what to make [default: plan]
#              [OUTPUT_DIRECTORY folder]    the output folder
#              [ADD_TO target]              a target to whose sources the kernels are added
#              [ROOT folder] [SMS n]        as for cclc
#              [UNPROVED])                  make it even if the checks find something
#
# Adds a target to `all`; its property CCL_OUTPUTS lists the files.
function(ccl_add_plan)
    _ccl_parse(ccl_add_plan "UNPROVED" "TARGET;SOURCE;PROGRAM;NAME;OUTPUT_DIRECTORY;ADD_TO;ROOT;SMS" "DEFINE;OPTION;EMIT")
    _ccl_require(ccl_add_plan TARGET SOURCE)
    if(NOT DEFINED arg_NAME)
        set(arg_NAME "${arg_TARGET}")
    endif()
    if(NOT arg_EMIT)
        set(arg_EMIT plan)
    endif()
    _ccl_output_folder(folder)
    _ccl_command(command)
    list(APPEND command -O "name=${arg_NAME}")
    if(arg_UNPROVED)
        list(APPEND command --unproved)
    endif()

    set(outputs "")
    set(kinds ${arg_EMIT})
    list(REMOVE_DUPLICATES kinds)
    if("cuda" IN_LIST kinds)
        list(REMOVE_ITEM kinds cuda)
        _ccl_kernels("${folder}" "${command}" files)
        list(APPEND outputs ${files})
    elseif(DEFINED arg_ADD_TO)
        message(FATAL_ERROR "ccl_add_plan: ADD_TO is for kernels; say EMIT cuda")
    endif()
    if(kinds)
        _ccl_plan("${folder}" "${command}" "${kinds}" files)
        list(APPEND outputs ${files})
    endif()
    add_custom_target("${arg_TARGET}" ALL DEPENDS ${outputs})
    set_property(TARGET "${arg_TARGET}" PROPERTY CCL_OUTPUTS ${outputs})
    if(DEFINED arg_ADD_TO)
        add_dependencies("${arg_ADD_TO}" "${arg_TARGET}")
    endif()
endfunction()

# ccl_add_plans(TARGET target SOURCE file.ccl
#               MATRIX name=value,value,.. ...     every combination of these becomes a plan
#               MANIFEST file.json                 the manifest of all of them
#               [PROGRAM name] [NAME name] [DEFINE ..] [OPTION ..] [OUTPUT_DIRECTORY folder] [ROOT folder] [SMS n])
#
# Options in MATRIX are prefixed with `-O:`, as in `-O:message_size=1KiB..=64KiB,65KiB..`. Plans are named after NAME
# and the values.
function(ccl_add_plans)
    _ccl_parse(ccl_add_plans "" "TARGET;SOURCE;PROGRAM;NAME;MANIFEST;OUTPUT_DIRECTORY;ROOT;SMS" "DEFINE;OPTION;MATRIX")
    _ccl_require(ccl_add_plans TARGET SOURCE MATRIX MANIFEST)
    if(NOT DEFINED arg_NAME)
        set(arg_NAME "${arg_TARGET}")
    endif()
    _ccl_output_folder(folder)

    # Each row is `name|argument|argument ..`, because lists cannot contain lists.
    set(rows "${arg_NAME}")
    foreach(axis IN LISTS arg_MATRIX)
        if(NOT axis MATCHES "^(-O:)?([A-Za-z_][A-Za-z0-9_]*)=(.+)$")
            message(FATAL_ERROR "ccl_add_plans: MATRIX takes name=value,value, not `${axis}`")
        endif()
        set(flag "-D")
        if(CMAKE_MATCH_1)
            set(flag "-O")
        endif()
        set(parameter "${CMAKE_MATCH_2}")
        string(REPLACE "," ";" values "${CMAKE_MATCH_3}")
        set(longer "")
        foreach(row IN LISTS rows)
            string(REPLACE "|" ";" arguments "${row}")
            list(POP_FRONT arguments name)
            foreach(value IN LISTS values)
                string(REGEX REPLACE "[^A-Za-z0-9]+" "_" word "${value}")
                set(longer_row "${name}_${parameter}_${word}" ${arguments} "${flag}" "${parameter}=${value}")
                list(JOIN longer_row "|" longer_row)
                list(APPEND longer "${longer_row}")
            endforeach()
        endforeach()
        set(rows ${longer})
    endforeach()

    set(outputs "")
    set(manifests "")
    _ccl_command(command)
    foreach(row IN LISTS rows)
        string(REPLACE "|" ";" arguments "${row}")
        list(POP_FRONT arguments arg_NAME)
        _ccl_plan("${folder}" "${command};${arguments};-O;name=${arg_NAME}" "plan;manifest" files)
        list(APPEND outputs ${files})
        list(APPEND manifests "${folder}/${arg_NAME}.manifest.json")
    endforeach()

    get_filename_component(manifest "${arg_MANIFEST}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    # Ninja would make the folder, make would not.
    get_filename_component(manifest_folder "${manifest}" DIRECTORY)
    file(MAKE_DIRECTORY "${manifest_folder}")
    _ccl_touch(touch "${manifest}")
    add_custom_command(
        OUTPUT "${manifest}"
        COMMAND "${Ccl_CCLC}" manifest -o "${manifest}" -- ${manifests}
        ${touch}
        DEPENDS ${manifests} "${Ccl_CCLC}"
        COMMENT "Joining ${arg_TARGET}'s manifests"
        VERBATIM)
    add_custom_target("${arg_TARGET}" ALL DEPENDS ${outputs} "${manifest}")
    set_property(TARGET "${arg_TARGET}" PROPERTY CCL_OUTPUTS ${outputs} "${manifest}")
endfunction()

# ccl_add_check(NAME test SOURCE file.ccl [PROGRAM name] [DEFINE name=value ...] [OPTION name=value ...] [ROOT folder] [SMS n])
#
# A test for ctest: the program is right for all of these; a parameter may have a range, `ranks=2..=16`.
function(ccl_add_check)
    _ccl_parse(ccl_add_check "" "NAME;SOURCE;PROGRAM;ROOT;SMS" "DEFINE;OPTION")
    _ccl_require(ccl_add_check NAME SOURCE)
    _ccl_arguments(arguments)
    add_test(NAME "${arg_NAME}" COMMAND "${Ccl_CCLC}" check ${arguments} -- "${arg_SOURCE}")
endfunction()

# Sets arg_* in the caller, a function, from its arguments; an unknown one ends the configuration. They are not passed on,
# because a macro would read backslashes and references in them once more.
macro(_ccl_parse command flags ones lists)
    cmake_parse_arguments(PARSE_ARGV 0 arg "${flags}" "${ones}" "${lists}")
    if(DEFINED arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${command}: `${arg_UNPARSED_ARGUMENTS}` is not known; there are ${flags} ${ones} ${lists}")
    endif()
    if(DEFINED arg_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "${command}: ${arg_KEYWORDS_MISSING_VALUES} needs a value")
    endif()
endmacro()

macro(_ccl_require command)
    foreach(_ccl_needed IN ITEMS ${ARGN})
        if(NOT DEFINED arg_${_ccl_needed})
            message(FATAL_ERROR "${command}: ${_ccl_needed} is missing")
        endif()
    endforeach()
    get_filename_component(arg_SOURCE "${arg_SOURCE}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    if(NOT EXISTS "${arg_SOURCE}")
        message(FATAL_ERROR "${command}: there is no file `${arg_SOURCE}`")
    endif()
endmacro()

function(_ccl_output_folder result)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}")
    if(DEFINED arg_OUTPUT_DIRECTORY)
        get_filename_component(folder "${arg_OUTPUT_DIRECTORY}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    endif()
    file(MAKE_DIRECTORY "${folder}")
    set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# The arguments that `check` and `build` share. The source comes last, after `--`.
function(_ccl_arguments result)
    set(arguments "")
    if(DEFINED arg_PROGRAM)
        list(APPEND arguments --program "${arg_PROGRAM}")
    endif()
    foreach(define IN LISTS arg_DEFINE)
        list(APPEND arguments -D "${define}")
    endforeach()
    foreach(option IN LISTS arg_OPTION)
        list(APPEND arguments -O "${option}")
    endforeach()
    if(DEFINED arg_ROOT)
        get_filename_component(root "${arg_ROOT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
        list(APPEND arguments --root "${root}")
    endif()
    if(DEFINED arg_SMS)
        list(APPEND arguments --sms "${arg_SMS}")
    endif()
    set(${result} "${arguments}" PARENT_SCOPE)
endfunction()

function(_ccl_command result)
    _ccl_arguments(arguments)
    set(${result} "${Ccl_CCLC}" build ${arguments} PARENT_SCOPE)
endfunction()

# Adds the rule that makes one plan and its companion files; returns the files.
function(_ccl_plan folder command kinds result)
    set(stem "${folder}/${arg_NAME}")
    set(files "")
    set(emit "")
    foreach(kind IN LISTS kinds)
        if(kind STREQUAL "plan")
            set(file "${stem}.json")
        elseif(kind MATCHES "^(map|manifest)$")
            set(file "${stem}.${kind}.json")
        else()
            message(FATAL_ERROR "ccl_add_plan: EMIT takes plan, map, manifest and cuda, not `${kind}`")
        endif()
        list(APPEND files "${file}")
        list(APPEND emit --emit "${kind}=${file}")
    endforeach()
    # The rule in the dependency file is for the plan, so the plan is always made.
    if(NOT "${stem}.json" IN_LIST files)
        list(PREPEND files "${stem}.json")
        list(PREPEND emit --emit "plan=${stem}.json")
    endif()
    _ccl_touch(touch ${files})
    add_custom_command(
        OUTPUT ${files}
        COMMAND ${command} ${emit} --emit "deps=${stem}.d" -- "${arg_SOURCE}"
        ${touch}
        DEPENDS "${arg_SOURCE}" "${Ccl_CCLC}"
        DEPFILE "${stem}.d"
        COMMENT "Building plan ${arg_NAME}"
        VERBATIM)
    set(${result} ${files} PARENT_SCOPE)
endfunction()

# Adds the rule that makes kernels, which become sources of ADD_TO if it is given; returns the files.
function(_ccl_kernels folder command result)
    set(stem "${folder}/${arg_NAME}")
    set(files "${stem}.cu" "${stem}.h")
    _ccl_touch(touch ${files})
    add_custom_command(
        OUTPUT ${files}
        COMMAND ${command} --emit "cuda=${stem}.cu" --emit "deps=${stem}.cu.d" -- "${arg_SOURCE}"
        ${touch}
        DEPENDS "${arg_SOURCE}" "${Ccl_CCLC}"
        DEPFILE "${stem}.cu.d"
        COMMENT "Building kernels ${arg_NAME}"
        VERBATIM)
    if(DEFINED arg_ADD_TO)
        target_sources("${arg_ADD_TO}" PRIVATE ${files})
        target_include_directories("${arg_ADD_TO}" PRIVATE "${folder}")
    endif()
    set(${result} ${files} PARENT_SCOPE)
endfunction()

# cclc does not write a file whose bytes would be the same. Ninja knows that a rule may do so; make would run the rule
# again and again.
function(_ccl_touch result)
    set(touch "")
    if(CMAKE_GENERATOR MATCHES "Makefiles")
        set(touch COMMAND "${CMAKE_COMMAND}" -E touch ${ARGN})
    endif()
    set(${result} "${touch}" PARENT_SCOPE)
endfunction()
