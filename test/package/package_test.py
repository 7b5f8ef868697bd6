#!/usr/bin/env python3
"""An installed codl as a build of somebody else uses it: CMake with Ninja and Make, pkg-config, Debian packages.

Usage: package_test.py --build build/release [--aarch64 build/aarch64] [unittest arguments]     standard library only

The packages are made and unpacked into a folder, in place of a system. --aarch64: also a cross build, with the
compiler from the host's packages and the runtime from the other ones.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = AARCH64 = None


def run(*command, cwd=None, env=None, code=0):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if result.returncode != code:
        raise AssertionError(f"{command}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


class Project:
    """Copies project/ to an empty folder and configures it."""

    def __init__(self, folder, generator, prefix, *settings):
        self.source = os.path.join(folder, "a project")
        self.build_folder = os.path.join(folder, "a build")
        shutil.copytree(os.path.join(HERE, "project"), self.source)
        shutil.copy(os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx"), self.path("my net.onnx"))
        shutil.copy(os.path.join(ROOT, "examples", "hello.c"), self.path("hello.c"))
        self.own_profile = self.path("mine.json")
        self.base = os.path.join(prefix, "share", "codl", "profiles", "sd888.json")
        with open(self.own_profile, "w") as file:
            file.write('{"base": "sd888", "name": "mine", "description": "a phone of mine"}')
        run("cmake", "-S", self.source, "-B", self.build_folder, "-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}", *settings)

    def path(self, name):
        return os.path.join(self.source, name)

    def built(self, name):
        return os.path.join(self.build_folder, name)

    def build(self):
        """Returns which devices were compiled for, and whether the user of the plans ran."""
        time.sleep(0.02)  # file times differ
        output = run("cmake", "--build", self.build_folder)
        return {device for device in ("sd855", "mine", "sd865") if f"Compiling net for {device}" in output}, "used " in output


class PackageTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def install(self):
        prefix = os.path.join(self.folder, "prefix")
        run("cmake", "--install", BUILD, "--prefix", prefix)
        return prefix

    def test_nothing_that_is_installed_names_a_folder_of_the_build(self):
        prefix = self.install()
        for folder, _, names in os.walk(prefix):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    contents = file.read()
                for path in (ROOT, BUILD):
                    self.assertNotIn(os.fsencode(path), contents, os.path.relpath(os.path.join(folder, name), prefix))
        # The installed tree then has no profiles but the project's own.
        shutil.rmtree(os.path.join(prefix, "share", "codl", "profiles"))
        self.assertIn('found "sd855"', run(os.path.join(prefix, "bin", "codl-dump"), "--device=sd855", code=1))

    def check_rebuilds(self, project):
        plans = sorted(f"net.{device}.codl" for device in ("sd855", "mine", "sd865"))
        self.assertEqual(project.build(), ({"sd855", "mine", "sd865"}, True))
        self.assertEqual(sorted(map(os.path.basename, glob.glob(project.built("*.codl")))), plans)
        self.assertEqual(project.build(), (set(), False))
        times = {plan: os.stat(project.built(plan)).st_mtime_ns for plan in plans}
        for profile in (project.own_profile, project.base):  # the profile, and its base
            with open(profile) as file:
                text = file.read()
            with open(profile, "w") as file:
                file.write(text.replace('"description": "', '"description": "Another: '))
            self.assertEqual(project.build(), ({"mine"}, True), profile)
            self.assertEqual(project.build(), (set(), False), profile)
            for plan in plans:
                now = os.stat(project.built(plan)).st_mtime_ns
                self.assertEqual(now != times[plan], plan == "net.mine.codl", plan)
                times[plan] = now
        # If the plan's bytes stay equal, it is compiled once more, but its users are not made again.
        os.utime(project.own_profile)
        compiled, is_used = project.build()
        self.assertEqual(compiled, {"mine"})
        self.assertEqual(os.stat(project.built("net.mine.codl")).st_mtime_ns, times["net.mine.codl"])
        self.assertEqual(project.build(), (set(), False))
        os.utime(project.path("my net.onnx"))
        self.assertEqual(project.build()[0], {"sd855", "mine", "sd865"})
        self.assertEqual(project.build(), (set(), False))
        self.assertIn("[", run(project.built("hello"), project.built("net.sd855.codl")))

    def test_ninja_rebuilds_what_changed(self):
        self.check_rebuilds(Project(self.folder, "Ninja", self.install()))

    def test_make_rebuilds_what_changed(self):
        self.check_rebuilds(Project(self.folder, "Unix Makefiles", self.install()))

    def test_pkg_config_gives_what_a_program_needs(self):
        prefix = self.install()
        config = glob.glob(os.path.join(prefix, "lib*", "**", "codl.pc"), recursive=True)[0]
        flags = run("pkg-config", "--cflags", "--libs", "codl", env={"PKG_CONFIG_PATH": os.path.dirname(config)}).split()
        program = os.path.join(self.folder, "hello")
        library = next(flag[2:] for flag in flags if flag.startswith("-L"))
        run("cc", os.path.join(ROOT, "examples", "hello.c"), "-o", program, *flags, f"-Wl,-rpath,{library}")
        plan = os.path.join(self.folder, "net.codl")
        run(os.path.join(prefix, "bin", "codlc"), os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx"), "-o", plan)
        self.assertIn("[", run(program, plan))
        for name in ("copyright", os.path.join("examples", "hello.c")):
            self.assertTrue(os.path.exists(os.path.join(prefix, "share", "doc", "libcodl-dev", name)), name)

    def test_the_android_preset_asks_for_an_ndk_and_uses_it(self):
        env = {name: value for name, value in os.environ.items() if name != "ANDROID_NDK_HOME"}
        ndk = os.path.join(self.folder, "ndk")
        build = os.path.join(self.folder, "android")
        command = ["cmake", "--preset", "android", "-B", build]
        for home, found in ((None, "none"), (ndk, f"no build/cmake/android.toolchain.cmake in {ndk}")):
            result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True,
                                    env=env if home is None else {**env, "ANDROID_NDK_HOME": home})
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(f"preset android: expected the NDK's folder in the environment's ANDROID_NDK_HOME, found {found}\n",
                          result.stderr)
            shutil.rmtree(build)
        # Makes an NDK of the host's compiler, to test the preset's own part.
        toolchain = os.path.join(ndk, "build", "cmake", "android.toolchain.cmake")
        os.makedirs(os.path.dirname(toolchain))
        with open(toolchain, "w") as file:
            file.write('message(STATUS "NDK for ${ANDROID_ABI}, ${ANDROID_PLATFORM}")\nset(CMAKE_SYSTEM_NAME Linux)\n'
                       "set(CMAKE_SYSTEM_PROCESSOR aarch64)\nset(CMAKE_FIND_ROOT_PATH /none)\n"
                       "foreach(what PROGRAM LIBRARY INCLUDE PACKAGE)\n  set(CMAKE_FIND_ROOT_PATH_MODE_${what} ONLY)\nendforeach()\n")
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**env, "ANDROID_NDK_HOME": ndk})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("NDK for arm64-v8a, android-26", result.stdout)
        headers = os.path.join(build, "host_headers")
        self.assertEqual(sorted(os.listdir(headers)), ["CL", "flatbuffers", "hwy", "xxhash.h"])
        with open(os.path.join(build, "compile_commands.json")) as file:
            commands = file.read()
        self.assertIn(f"-isystem {headers}", commands)
        self.assertNotIn("-isystem /usr/include ", commands)

    def unpack(self, build, architecture, system, packages):
        """Makes the Debian packages of a build and unpacks `packages` of them into a folder."""
        made = os.path.join(self.folder, "packages-" + architecture)
        run("cpack", "-G", "DEB", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", made)
        files = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(made, "*.deb"))}
        self.assertLessEqual(set(packages), set(files))
        for package in packages:
            self.assertEqual(run("dpkg-deb", "-f", files[package], "Architecture").strip(), architecture)
            run("dpkg-deb", "-x", files[package], system)
        return files

    def test_debian_packages_build_a_project(self):
        system = os.path.join(self.folder, "system")
        files = self.unpack(BUILD, "amd64", system, ["codl-compiler", "libcodl0", "libcodl-dev"])
        self.assertEqual(set(files), {"codl-compiler", "codl-tools", "libcodl0", "libcodl-dev"})
        self.assertIn("libcodl0 (= ", run("dpkg-deb", "-f", files["libcodl-dev"], "Depends"))
        self.assertIn("libprotobuf", run("dpkg-deb", "-f", files["codl-compiler"], "Depends"))
        self.check_rebuilds(Project(self.folder, "Ninja", f"{system}/usr"))

    def test_a_cross_build_makes_an_archive_for_android(self):
        if not AARCH64:
            self.skipTest("no --aarch64")
        if shutil.which("javac") is None:
            print("[SKIP] java: no JDK")
            self.skipTest("no JDK")
        run("cmake", "--build", AARCH64, "--target", "codl_aar")
        folder = os.path.join(self.folder, "aar")
        with zipfile.ZipFile(os.path.join(AARCH64, "codl.aar")) as archive:
            archive.extractall(folder)
            names = {name for name in archive.namelist() if not name.endswith("/")}
        library = "jni/arm64-v8a/libcodl_jni.so"
        self.assertEqual(names, {"AndroidManifest.xml", "R.txt", "classes.jar", "proguard.txt", library})
        manifest = xml.etree.ElementTree.parse(os.path.join(folder, "AndroidManifest.xml")).getroot()
        android = "{http://schemas.android.com/apk/res/android}"
        self.assertEqual((manifest.tag, manifest.get("package")), ("manifest", "codl.runtime"))
        self.assertEqual(manifest.find("uses-sdk").get(android + "minSdkVersion"), "26")
        self.assertEqual({one.get(android + "required") for one in manifest.iter("uses-native-library")}, {"false"})
        with zipfile.ZipFile(os.path.join(folder, "classes.jar")) as jar:
            classes = {name: jar.read(name) for name in jar.namelist() if name.endswith(".class")}
        self.assertIn("codl/CodlException.class", classes)
        self.assertEqual({data[:8] for data in classes.values()}, {b"\xca\xfe\xba\xbe\0\0\0\x34"})  # Java 8
        library = os.path.join(folder, library)
        # Pages of 16 KiB, as Android 15 may have; nothing but the C library is needed, nothing but Java's calls are shown.
        loads = re.findall(r"(?m)^  LOAD .* (0x[0-9a-f]+)$", run("aarch64-linux-gnu-readelf", "-lW", library))
        self.assertEqual({int(alignment, 16) for alignment in loads}, {16384})
        needed = set(re.findall(r"NEEDED.*\[([a-z-]+)", run("aarch64-linux-gnu-readelf", "-dW", library)))
        self.assertLessEqual(needed, {"libc", "libm", "libdl", "libpthread", "ld-linux-aarch"})
        shown = set(re.findall(r"(?m) T (\S+)$", run("aarch64-linux-gnu-nm", "-D", "--defined-only", library)))
        with open(os.path.join(ROOT, "examples", "java", "codl", "Network.java")) as file:
            natives = re.findall(r"static native \S+ (\w+)\(", file.read())
        self.assertEqual(shown, {f"Java_codl_Network_{name}" for name in natives})

    def test_a_cross_build_has_its_hosts_compiler(self):
        if not AARCH64:
            self.skipTest("no --aarch64")
        host, target = os.path.join(self.folder, "host"), os.path.join(self.folder, "target")
        self.unpack(BUILD, "amd64", host, ["codl-compiler", "libcodl0", "libcodl-dev"])
        self.unpack(AARCH64, "arm64", target, ["libcodl0", "libcodl-dev"])
        # Both are in the path: the package for the target processor is taken.
        project = Project(self.folder, "Ninja", f"{host}/usr",
                          f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchain_aarch64_linux.cmake",
                          f"-DCMAKE_PREFIX_PATH={host}/usr;{target}/usr", f"-DCODL_HOST_PREFIX={host}/usr")
        self.assertEqual(project.build(), ({"sd855", "mine", "sd865"}, True))
        library = glob.glob(os.path.join(target, "usr", "lib", "**", "libcodl.so.0"), recursive=True)[0]
        self.assertIn("[", run("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E",
                               f"LD_LIBRARY_PATH={os.path.dirname(library)}", project.built("hello"),
                               project.built("net.mine.codl")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--aarch64")
    options, rest = parser.parse_known_args()
    BUILD = os.path.abspath(options.build)
    AARCH64 = options.aarch64 and os.path.abspath(options.aarch64)
    unittest.main(argv=[sys.argv[0], *rest])
