package repair.runner;

import java.io.InputStream;
import java.io.PrintStream;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.ResponseCache;
import java.security.Security;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.TimeZone;
import java.util.logging.Level;
import java.util.logging.Logger;

/** What of the JDK itself a tested program may change for those that come after it, as it was when this was made. */
final class JdkState {
    private final Properties properties = (Properties) System.getProperties().clone();
    private final Locale locale = Locale.getDefault();
    private final Locale display = Locale.getDefault(Locale.Category.DISPLAY);
    private final Locale format = Locale.getDefault(Locale.Category.FORMAT);
    private final TimeZone zone = TimeZone.getDefault();
    private final PrintStream out = System.out;
    private final PrintStream err = System.err;
    private final InputStream in = System.in;
    private final Thread.UncaughtExceptionHandler uncaught = Thread.getDefaultUncaughtExceptionHandler();
    private final ProxySelector proxies = ProxySelector.getDefault();
    private final CookieHandler cookies = CookieHandler.getDefault();
    private final ResponseCache responses = ResponseCache.getDefault();
    private final Level logLevel = Logger.getLogger("").getLevel();
    private final List<Object> fixed = fixed();

    /** Puts everything back. */
    void restore() {
        System.setProperties((Properties) properties.clone());
        Locale.setDefault(locale);
        Locale.setDefault(Locale.Category.DISPLAY, display);
        Locale.setDefault(Locale.Category.FORMAT, format);
        TimeZone.setDefault(zone);
        System.setOut(out);
        System.setErr(err);
        System.setIn(in);
        Thread.setDefaultUncaughtExceptionHandler(uncaught);
        ProxySelector.setDefault(proxies);
        CookieHandler.setDefault(cookies);
        ResponseCache.setDefault(responses);
        Authenticator.setDefault(null);
        Logger.getLogger("").setLevel(logLevel);
    }

    /** Whether something is other than it was that cannot be put back: then this JVM has to be replaced. */
    boolean isSpoilt() {
        return !fixed.equals(fixed()) || !areBoxesSound();
    }

    /** What cannot be put back soundly, in a form that can be compared. */
    private static List<Object> fixed() {
        List<Object> all = new ArrayList<>();
        all.addAll(Arrays.asList((Object[]) Security.getProviders()));
        all.addAll(Arrays.asList((Object[]) Logger.getLogger("").getHandlers()));
        all.add(securityManager());
        return all;
    }

    private static Object securityManager() {
        try {
            Object manager = System.class.getMethod("getSecurityManager").invoke(null);
            return manager == null ? "none" : manager;
        } catch (ReflectiveOperationException absent) {
            return "none";
        }
    }

    /** The JDK shares small boxed numbers; with its packages opened, as old tests need them, they can be overwritten. */
    private static boolean areBoxesSound() {
        for (int i = Byte.MIN_VALUE; i <= Byte.MAX_VALUE; i++) {
            boolean isSound = Integer.valueOf(i).intValue() == i && Long.valueOf(i).longValue() == i
                    && Short.valueOf((short) i).shortValue() == i && Byte.valueOf((byte) i).byteValue() == i
                    && (i < 0 || Character.valueOf((char) i).charValue() == i);
            if (!isSound) {
                return false;
            }
        }
        return Boolean.TRUE.booleanValue() && !Boolean.FALSE.booleanValue();
    }
}
