// SPDX-License-Identifier: Apache-2.0
// Whether everything the plugin's classes call is there in the Spark on the class path.
package org.verbena.spark.versions;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.zip.ZipFile;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.FieldVisitor;
import org.apache.xbean.asm9.Handle;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.verbena.spark.compat.SparkShim;

/**
 * Resolves every method and field of Spark and Scala that the plugin's jar names, as the JVM would at the first call.
 * Scala's signatures differ between 2.12 and 2.13, and Spark's between releases, without a compile error here.
 */
public final class LinkCheck {
    private static final String SHIM = "org/verbena/spark/shim";
    private final Map<String, Shape> shapes = new HashMap<>();
    private final Set<String> missing = new TreeSet<>();
    private int checked;

    private LinkCheck() {
    }

    /** args: path of the plugin's jar. Prints what is missing and the number of references; exit status 1 if any. */
    public static void main(String[] args) throws IOException {
        String line = SparkShim.line();
        LinkCheck check = new LinkCheck();
        try (JarFile jar = new JarFile(new File(args[0]), false, ZipFile.OPEN_READ, Runtime.version())) {
            for (String name : (Iterable<String>) jar.stream().map(Object::toString).filter(
                    name -> name.startsWith("org/verbena/spark/") && name.endsWith(".class"))::iterator) {
                // The shim of 4.3 extends the one of 4.2.
                boolean used = !name.startsWith(SHIM) || name.startsWith(SHIM + line)
                    || "43".equals(line) && name.startsWith(SHIM + "42");
                if (used) {
                    try (InputStream bytes = jar.getInputStream(jar.getEntry(name))) {
                        check.read(new ClassReader(bytes));
                    }
                }
            }
        }
        check.missing.forEach(reference -> System.out.println("MISSING " + reference));
        System.out.println("CHECKED " + check.checked);
        System.exit(check.missing.isEmpty() ? 0 : 1);
    }

    private void read(ClassReader reader) {
        reader.accept(new ClassVisitor(Opcodes.ASM9) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] thrown) {
                return new References(reader.getClassName());
            }
        }, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
    }

    private final class References extends MethodVisitor {
        private final String user;

        References(String user) {
            super(Opcodes.ASM9);
            this.user = user;
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String type, boolean isInterface) {
            check(user, owner, name, type, isInterface);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String type) {
            check(user, owner, name, type, false);
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String type, Handle bootstrap, Object... arguments) {
            for (Object argument : arguments) {
                if (argument instanceof Handle handle) {
                    check(user, handle.getOwner(), handle.getName(), handle.getDesc(), handle.isInterface());
                }
            }
        }
    }

    private void check(String user, String owner, String name, String type, boolean isInterface) {
        if (!owner.startsWith("org/apache/spark/") && !owner.startsWith("scala/")) {
            return;
        }
        checked++;
        Shape holder = shape(owner);
        if (holder == null) {
            missing.add(owner + " used by " + user);
        } else if (holder.isInterface() != isInterface && type.startsWith("(") || !has(holder, name + type)) {
            missing.add(owner + "." + name + type + " used by " + user);
        }
    }

    private boolean has(Shape holder, String member) {
        return holder.members().contains(member) || !member.startsWith("<init>") && holder.parents().stream()
            .map(this::shape).anyMatch(parent -> parent != null && has(parent, member));
    }

    /** Read from its file, because loading it would need what its other members name. Null when there is none. */
    private Shape shape(String name) {
        return shapes.computeIfAbsent(name, n -> {
            try (InputStream bytes = ClassLoader.getSystemResourceAsStream(n + ".class")) {
                return bytes == null ? null : Shape.of(new ClassReader(bytes));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** What a class declares and where it inherits from. */
    private record Shape(boolean isInterface, Set<String> members, List<String> parents) {
        static Shape of(ClassReader reader) {
            Set<String> members = new HashSet<>();
            reader.accept(new ClassVisitor(Opcodes.ASM9) {
                @Override
                public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] thrown) {
                    members.add(name + type);
                    return null;
                }

                @Override
                public FieldVisitor visitField(int access, String name, String type, String signature, Object value) {
                    members.add(name + type);
                    return null;
                }
            }, ClassReader.SKIP_CODE);
            List<String> parents = new ArrayList<>(List.of(reader.getInterfaces()));
            if (reader.getSuperName() != null) {
                parents.add(reader.getSuperName());
            }
            return new Shape((reader.getAccess() & Opcodes.ACC_INTERFACE) != 0, members, parents);
        }
    }
}
