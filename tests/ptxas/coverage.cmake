# Fails where docs/coverage.md is not what `plumb isa --coverage` prints.
execute_process(COMMAND ${PLUMB} isa --coverage --vectors ${ROOT}/tests/vectors --proofs ${ROOT}/suite OUTPUT_VARIABLE page RESULT_VARIABLE result)
file(READ ${ROOT}/docs/coverage.md committed)
if(NOT result EQUAL 0 OR NOT page STREQUAL committed)
  message(FATAL_ERROR "docs/coverage.md is out of date: plumb isa --coverage --vectors tests/vectors --proofs suite > docs/coverage.md")
endif()
