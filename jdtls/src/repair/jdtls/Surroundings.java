package repair.jdtls;

import java.util.Set;

/**
 * What the unpatched unit says about names that come from elsewhere.
 *
 * @param parsed whether it has no syntax error
 * @param namesKnown whether all supertypes and on-demand imports were found, so that inherited and imported names are all
 *     known
 * @param missingNames segments of types, packages and imports that were not found, in jars or generated sources that are
 *     not here: they exist somewhere
 * @param importedNames simple names of imported types and static members, including all that on-demand imports of types
 *     bring
 */
record Surroundings(boolean parsed, boolean namesKnown, Set<String> missingNames, Set<String> importedNames) {}
