import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import Testing

/// The broker's clock is set ten minutes wrong while it runs, and set right again.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ClockTests {
    /// Moves what a process takes for the time, by the seconds that a file holds.
    private static let library = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>

        static volatile int64_t *offset;

        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("CLOCK_OFFSET");
            int file = path ? open(path, O_RDONLY) : -1;
            void *page = file < 0 ? MAP_FAILED : mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
            if (page != MAP_FAILED) offset = page;
        }

        int clock_gettime(clockid_t clock, struct timespec *time) {
            long result = syscall(SYS_clock_gettime, clock, time);
            if (result == 0 && clock == CLOCK_REALTIME && offset) time->tv_sec += *offset;
            return (int)result;
        }
        """

    private static func compiled(in directory: URL) async throws -> String {
        let (source, library) = (directory.appending(path: "clock.c"), directory.appending(path: "clock.so"))
        try self.library.write(to: source, atomically: true, encoding: .utf8)
        let compiler = try Process.run(
            URL(filePath: "/usr/bin/env"), arguments: ["clang", "-shared", "-fPIC", "-o", library.path, source.path])
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
        return library.path
    }

    private static func set(_ offset: Int64, in file: URL) throws {
        // In place: the broker has mapped it.
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: withUnsafeBytes(of: offset) { Data($0) })
        try handle.close()
    }

    @Test func `while the clocks are apart, nothing is decided and nothing written`() async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        let library = try await Self.compiled(in: installation.directory)
        let file = installation.directory.appending(path: "offset")
        try Data(count: 8).write(to: file)
        let environment = [
            "LD_PRELOAD": library, "CLOCK_OFFSET": file.path, "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:0",
            "NATIVE_SSO_BACKCHANNEL_REVOKE": "true", "NATIVE_SSO_BACKCHANNEL_INTROSPECT": "true",
        ]
        try await installation.withBroker("clock", environment: environment) { broker in
            let family = try await logins.family(at: broker)
            let sql = try installation.session()
            let rows = "SELECT count(*), sum(generation), count(revoked_at) FROM native_sso.sso_grant"
            let before = try await sql.row(rows)
            for offset in [600, -600, 31, -31] as [Int64] {
                try Self.set(offset, in: file)
                let forms = [
                    try logins.exchange(logins.login()), logins.refresh(family.refreshToken),
                    try logins.exchange(family.login),
                ]
                for form in forms {
                    let answer = try await broker.token(form)
                    #expect(answer.isOutage, "\(offset): \(answer.status) \(answer.text)")
                    let line = try await eventually("its line in the log") {
                        try broker.logLines(with: "\"request_id\":\"\(answer.requestID)\"").first
                    }
                    #expect(line.contains("clocks_apart"), "\(line)")
                }
                let logout = try await HTTPRequest.token([("logout_token", "x.y.z")], to: "/backchannel-logout")
                    .send(to: broker.internalPort)
                #expect(logout.status == 400 && logout.error == "temporarily_unavailable", "\(logout.text)")
                #expect(try await sql.row(rows) == before)
            }
            _ = try await eventually("the broker says that it is not ready") {
                try await HTTPRequest("GET", "/readyz").send(to: broker.internalPort).text.contains("clocks_apart")
                    ? true : nil
            }
            try Self.set(20, in: file)
            #expect(try await broker.token(logins.refresh(family.refreshToken)).status == 200)
            #expect(try await broker.token(logins.exchange(logins.login())).status == 200)
        }
    }
}
