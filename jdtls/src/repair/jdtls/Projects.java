package repair.jdtls;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.core.resources.IFolder;
import org.eclipse.core.resources.IProject;
import org.eclipse.core.resources.IProjectDescription;
import org.eclipse.core.resources.IResource;
import org.eclipse.core.resources.IWorkspace;
import org.eclipse.core.resources.IWorkspaceDescription;
import org.eclipse.core.resources.ResourcesPlugin;
import org.eclipse.core.runtime.CoreException;
import org.eclipse.core.runtime.ICoreRunnable;
import org.eclipse.core.runtime.IPath;
import org.eclipse.core.runtime.NullProgressMonitor;
import org.eclipse.core.runtime.Path;
import org.eclipse.core.runtime.Platform;
import org.eclipse.core.runtime.QualifiedName;
import org.eclipse.jdt.core.IClasspathAttribute;
import org.eclipse.jdt.core.IClasspathEntry;
import org.eclipse.jdt.core.IJavaProject;
import org.eclipse.jdt.core.JavaCore;
import org.eclipse.jdt.core.JavaModelException;
import org.eclipse.jdt.launching.IVMInstallType;
import org.eclipse.jdt.launching.JavaRuntime;
import org.eclipse.jdt.launching.LibraryLocation;
import org.eclipse.jdt.launching.VMStandin;

/**
 * Makes the one Java project of a workspace out of folders that are linked to, so that nothing is ever written to the
 * user's tree: sources and tests by links, jars and the JDK's class libraries by library entries.
 */
final class Projects {
    private static final String NAME = "repair";
    private static final QualifiedName MADE_FROM = new QualifiedName("repair.jdtls", "made");
    private static final String VM_TYPE = "org.eclipse.jdt.internal.debug.ui.launcher.StandardVMType";

    private Projects() {}

    /** What was asked for but is not there; the version of the server that answers. */
    record Reply(List<String> missing, String server) {}

    static Reply create(Arguments given) throws CoreException {
        strictAssist();
        List<String> folders = Stream.concat(given.texts("sources").stream(), given.texts("tests").stream())
            .distinct()
            .collect(Collectors.toCollection(ArrayList::new));
        List<String> libraries = given.texts("libs").stream().distinct().toList();
        String jre = given.text("jre");

        List<String> missing = new ArrayList<>();
        for (List<String> paths : List.of(folders, libraries)) {
            paths.stream().filter(path -> !new File(path).exists()).forEach(missing::add);
        }
        folders.removeAll(missing);
        IWorkspace workspace = ResourcesPlugin.getWorkspace();
        IProject project = workspace.getRoot().getProject(NAME);
        NullProgressMonitor monitor = new NullProgressMonitor();
        String made = given.toString();
        if (missing.isEmpty() && isThere(project, made)) {
            // Of an earlier server; sources may have changed since.
            project.refreshLocal(IResource.DEPTH_INFINITE, monitor);
            return reply(missing);
        }
        workspace.run((ICoreRunnable) m -> {
            withoutAutobuild(workspace);
            fresh(project, given.text("encoding"));
            List<IClasspathEntry> path = linked(project, folders);
            for (String library : libraries) {
                if (!missing.contains(library)) {
                    path.add(JavaCore.newLibraryEntry(new Path(library), null, null));
                }
            }
            List<IClasspathEntry> runtime = runtime(jre);
            if (runtime.isEmpty()) {
                missing.add(jre);
            }
            path.addAll(runtime);
            configure(JavaCore.create(project), path, level(given.number("level")));
        }, null, 0, monitor);
        if (JavaCore.create(project).findType("java.lang.Object") == null && !missing.contains(jre)) {
            missing.add(jre);
        }
        if (missing.isEmpty()) {
            project.setPersistentProperty(MADE_FROM, sha256(made));
            workspace.save(true, monitor);
        }
        return reply(missing);
    }

    private static Reply reply(List<String> missing) {
        return new Reply(missing, Platform.getBundle("org.eclipse.jdt.ls.core").getVersion().toString());
    }

    /** Whether the workspace has the project already, made from the same arguments. */
    private static boolean isThere(IProject project, String made) throws CoreException {
        return project.isOpen() && sha256(made).equals(project.getPersistentProperty(MADE_FROM));
    }

    /** A persistent property has two thousand bytes at most. */
    private static String sha256(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Completion lists must hold what matches exactly, and all of it. These options are the process's. */
    private static void strictAssist() {
        Hashtable<String, String> options = JavaCore.getOptions();
        for (String option : List.of(
                JavaCore.CODEASSIST_CAMEL_CASE_MATCH,
                JavaCore.CODEASSIST_SUBSTRING_MATCH,
                JavaCore.CODEASSIST_SUBWORD_MATCH,
                JavaCore.CODEASSIST_SUGGEST_STATIC_IMPORTS,
                JavaCore.CODEASSIST_DEPRECATION_CHECK,
                JavaCore.CODEASSIST_FORBIDDEN_REFERENCE_CHECK,
                JavaCore.CODEASSIST_DISCOURAGED_REFERENCE_CHECK)) {
            options.put(option, JavaCore.DISABLED);
        }
        options.put(JavaCore.CODEASSIST_VISIBILITY_CHECK, JavaCore.ENABLED);
        JavaCore.setOptions(options);
    }

    private static void withoutAutobuild(IWorkspace workspace) throws CoreException {
        IWorkspaceDescription description = workspace.getDescription();
        if (description.isAutoBuilding()) {
            description.setAutoBuilding(false);
            workspace.setDescription(description);
        }
    }

    private static void fresh(IProject project, String encoding) throws CoreException {
        NullProgressMonitor monitor = new NullProgressMonitor();
        if (project.exists()) {
            project.delete(true, true, monitor);
        }
        project.create(monitor);
        project.open(monitor);
        IProjectDescription description = project.getDescription();
        description.setNatureIds(new String[] {JavaCore.NATURE_ID});
        project.setDescription(description, monitor);
        project.setDefaultCharset(encoding, monitor);
    }

    /** One source entry for each folder. A folder inside another one is excluded from the outer. */
    private static List<IClasspathEntry> linked(IProject project, List<String> folders) throws CoreException {
        List<IClasspathEntry> entries = new ArrayList<>();
        for (String folder : folders) {
            IFolder link = project.getFolder("source" + entries.size());
            link.createLink(new Path(folder), IResource.NONE, new NullProgressMonitor());
            IPath outer = new Path(folder);
            IPath[] inner = folders.stream()
                .map(Path::new)
                .filter(other -> outer.isPrefixOf(other) && !outer.equals(other))
                .map(other -> other.makeRelativeTo(outer).addTrailingSeparator())
                .toArray(IPath[]::new);
            entries.add(JavaCore.newSourceEntry(link.getFullPath(), new IPath[0], inner, null));
        }
        return entries;
    }

    /**
     * The class libraries of the JDK at {@code home}, none if there is no JDK. As plain entries: a runtime that is
     * registered for a JRE container may be dropped again while the server sets up its own ones.
     */
    private static List<IClasspathEntry> runtime(String home) {
        IVMInstallType type = JavaRuntime.getVMInstallType(VM_TYPE);
        if (!type.validateInstallLocation(new File(home)).isOK()) {
            return List.of();
        }
        VMStandin vm = new VMStandin(type, NAME);
        vm.setInstallLocation(new File(home));
        vm.setName(NAME);
        IClasspathAttribute[] attributes = JavaRuntime.isModularJava(vm)
            ? new IClasspathAttribute[] {JavaCore.newClasspathAttribute(IClasspathAttribute.MODULE, "true")}
            : new IClasspathAttribute[0];
        return Arrays.stream(JavaRuntime.getLibraryLocations(vm))
            .map(LibraryLocation::getSystemLibraryPath)
            .map(library -> JavaCore.newLibraryEntry(library, null, null, null, attributes, false))
            .toList();
    }

    /**
     * The compiler's name of a feature release. Asked for a level below 1.8 it would silently take its latest one; asked
     * for one that it does not know yet, it gets the newest it knows.
     */
    private static String level(int feature) {
        int newest = Integer.parseInt(JavaCore.latestSupportedJavaVersion());
        return feature <= 8 ? JavaCore.VERSION_1_8 : Integer.toString(Math.min(feature, newest));
    }

    private static void configure(IJavaProject project, List<IClasspathEntry> path, String level)
            throws JavaModelException {
        Map<String, String> options = new HashMap<>(JavaCore.getOptions());
        JavaCore.setComplianceOptions(level, options);
        options.put(JavaCore.COMPILER_PB_FORBIDDEN_REFERENCE, JavaCore.IGNORE);
        project.setOptions(options);
        IPath output = project.getProject().getFullPath().append("out");
        project.setRawClasspath(path.toArray(IClasspathEntry[]::new), output, new NullProgressMonitor());
    }
}
