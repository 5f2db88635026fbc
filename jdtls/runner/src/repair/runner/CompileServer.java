package repair.runner;

import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * A compiler that stays warm: each request is a command line of {@code javac}, each answer one line
 * {@code {"status":n,"errors":"..."}}. No code that is compiled here is ever run here.
 *
 * <pre>CompileServer</pre>
 */
public final class CompileServer {
    private CompileServer() {}

    public static void main(String[] args) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        OutputStream out = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        Writer channel = new OutputStreamWriter(out, StandardCharsets.US_ASCII);
        Requests requests = new Requests();
        for (String[] words = requests.next(); words != null; words = requests.next()) {
            ByteArrayOutputStream errors = new ByteArrayOutputStream();
            int status = compiler.run(null, errors, errors, words);
            String text = new String(errors.toByteArray(), StandardCharsets.UTF_8);
            channel.write("{\"status\":" + status + ",\"errors\":" + Results.quoted(text) + "}\n");
            channel.flush();
        }
        Runtime.getRuntime().halt(0);
    }
}
