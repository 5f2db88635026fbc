package repair.runner;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** Turns the platform's events into lines of the results file. */
final class Listener implements TestExecutionListener {
    private final Results results;
    private final Map<String, Long> startTimes = new ConcurrentHashMap<>();
    private volatile TestPlan plan;

    Listener(Results results) {
        this.results = results;
    }

    @Override
    public void testPlanExecutionStarted(TestPlan started) {
        plan = started;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (test.isTest() || isClass(test)) {
            startTimes.put(test.getUniqueId(), System.nanoTime());
            results.started(nameOf(test));
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        results.finished(nameOf(test), "skipped", null, 0);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        boolean successful = result.getStatus() == TestExecutionResult.Status.SUCCESSFUL;
        if (!test.isTest() && successful) {
            if (isClass(test)) {
                results.ended(nameOf(test));
            }
            return;
        }
        Long start = startTimes.remove(test.getUniqueId());
        long millis = start == null ? 0 : (System.nanoTime() - start) / 1_000_000;
        results.finished(nameOf(test), statusOf(result), result.getThrowable().orElse(null), millis);
    }

    private static boolean isClass(TestIdentifier test) {
        return test.getSource().filter(ClassSource.class::isInstance).isPresent();
    }

    private static String statusOf(TestExecutionResult result) {
        switch (result.getStatus()) {
            case SUCCESSFUL: return "passed";
            case ABORTED: return "skipped";
            default: return "failed";
        }
    }

    /** {@code class#method}, with {@code [n]} for the n-th invocation of a test that runs more than once. */
    private String nameOf(TestIdentifier test) {
        Optional<TestSource> source = test.getSource();
        if (source.isPresent() && source.get() instanceof MethodSource) {
            MethodSource method = (MethodSource) source.get();
            String name = method.getClassName() + "#" + method.getMethodName();
            return name.endsWith("]") ? name : name + invocation(test.getLegacyReportingName());
        }
        if (source.isPresent() && source.get() instanceof ClassSource) {
            String name = ((ClassSource) source.get()).getClassName();
            return test.isTest() ? name + "#" + test.getDisplayName() : name;
        }
        return fromParent(test);
    }

    /** Tests of foreign runners have no source of their own: the nearest named ancestor and their display name. */
    private String fromParent(TestIdentifier test) {
        Optional<TestIdentifier> parent = plan == null ? Optional.empty() : plan.getParent(test);
        if (!parent.isPresent() || !test.isTest()) {
            return test.getDisplayName();
        }
        String name = nameOf(parent.get());
        return name.indexOf('#') < 0 ? name + "#" + test.getDisplayName() : name + "[" + test.getDisplayName() + "]";
    }

    private static String invocation(String legacyName) {
        int bracket = legacyName.indexOf('[');
        return bracket >= 0 && legacyName.endsWith("]") ? legacyName.substring(bracket) : "";
    }
}
