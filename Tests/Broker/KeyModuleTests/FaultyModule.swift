import BrokerTesting
import ChildProcesses
import Foundation
import JOSE
@testable import KeyModule
import NativeSSO
import Testing

/// A PKCS#11 module that passes every call on to SoftHSM2, but those that a test lets fail: SoftHSM2 locks no PIN, is never slow, and
/// knows all mechanisms.
final class FaultyModule: Sendable {
    enum Fault: String, Sendable {
        case lockedPIN, slow, removed, noMechanism
        /// The next session that signs.
        case hangs
    }

    let path: String
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("module.so")
        try directory.write(Self.source.utf8, to: "module.c")
        try directory.write([], to: "fault")
        let run = try ProgramRun(
            [
                "/usr/bin/env", "clang", "-shared", "-fPIC", "-o", path, directory.file("module.c"),
                "-DREAL=\"\(SoftToken.module)\"", "-DFAULT=\"\(directory.file("fault"))\"",
            ],
            environment: ProcessInfo.processInfo.environment, inOwnSession: true, within: .seconds(60))
        try #require(run.status == 0, "\(run.errors)")
    }

    func settings(_ token: SoftToken) -> TokenSettings {
        TokenSettings(module: path, token: token.label, pin: "4321", sessions: 2)
    }

    func fail(with fault: Fault?) throws { try directory.write((fault?.rawValue ?? "").utf8, to: "fault") }

    /// How often a PIN was tried with ``Fault/lockedPIN``.
    var tries: Int { get throws { try directory.read("fault.tries").count } }

    private static let source = """
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <string.h>
        #include <unistd.h>
        #define CRYPTOKI_GNU 1
        #include <p11-kit-1/p11-kit/pkcs11.h>

        static struct ck_function_list list, *real;

        static int fails(const char *name) {
            char text[32] = {0};
            int file = open(FAULT, O_RDONLY);
            if (file < 0) return 0;
            ssize_t count = read(file, text, sizeof text - 1);
            close(file);
            return count > 0 && strcmp(text, name) == 0;
        }
        static ck_rv_t login(ck_session_handle_t s, ck_user_type_t u, unsigned char *pin, unsigned long count) {
            if (!fails("lockedPIN")) return real->C_Login(s, u, pin, count);
            int file = open(FAULT ".tries", O_WRONLY | O_CREAT | O_APPEND, 0600);
            if (file >= 0 && write(file, "t", 1) == 1) close(file);
            return CKR_PIN_LOCKED;
        }
        static ck_rv_t begin(ck_session_handle_t s, struct ck_mechanism *m, ck_object_handle_t key) {
            return fails("noMechanism") ? CKR_MECHANISM_INVALID : real->C_SignInit(s, m, key);
        }
        static ck_rv_t sign(ck_session_handle_t s, unsigned char *d, unsigned long n, unsigned char *r, unsigned long *c) {
            static ck_session_handle_t stuck;
            if (fails("hangs")) {
                if (!stuck) stuck = s;
                while (stuck == s && fails("hangs")) usleep(1000);
            }
            if (fails("removed")) return CKR_DEVICE_REMOVED;
            if (fails("slow")) usleep(100000);
            return real->C_Sign(s, d, n, r, c);
        }
        ck_rv_t C_GetFunctionList(struct ck_function_list **result) {
            void *module = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
            CK_C_GetFunctionList get = module ? (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList") : 0;
            if (!get || get(&real) != CKR_OK) return CKR_GENERAL_ERROR;
            list = *real;
            list.C_Login = login;
            list.C_SignInit = begin;
            list.C_Sign = sign;
            *result = &list;
            return CKR_OK;
        }
        """
}

@Suite(
    "A PKCS#11 token when something is wrong", .enabled(if: SoftToken.isInstalled, "SoftHSM2 is not installed"),
    .serialized)
struct TokenFaultTests {
    private let soft: SoftToken
    private let module: FaultyModule
    private let directory: TemporaryDirectory
    private let token: Token

    init() throws {
        soft = try SoftToken()
        module = try FaultyModule()
        directory = try TemporaryDirectory()
        token = Token(module.settings(soft))
    }

    private var provider: TokenKeyProvider {
        TokenKeyProvider(token, files: FileKeyProvider(directory: directory.path))
    }

    @Test func `a locked PIN is tried once, and the text says who can unlock it`() async throws {
        try module.fail(with: .lockedPIN)
        for _ in 0..<3 {
            await #expect(throws: KeyError.token(.lockedPIN)) {
                try await provider.generateSigningKey(.es256, modulusBits: 0)
            }
        }
        #expect(token.logins == 1)
        #expect(KeyError.token(.lockedPIN).description.contains("security officer"))
    }

    /// The token works on for other keys.
    @Test func `a mechanism that the token does not know is no outage`() async throws {
        let record = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        try module.fail(with: .noMechanism)
        let expected = KeyError.token(.wrongMechanism("it does not know the mechanism"))
        await #expect(throws: expected) { try await provider.signingKey(record) }
        await #expect(throws: expected) { try await provider.generateSigningKey(.rs256, modulusBits: 2048) }
        #expect(!expected.isOutage && token.failure == nil)
        #expect(expected.description.contains("another algorithm"))
        try module.fail(with: nil)
        _ = try await provider.signingKey(record)
    }

    @Test func `the same key twice is refused, until one is removed`() async throws {
        let made = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let label = String(made.reference.dropFirst("pkcs11:object=".count))
        let kind = try TokenKeyKind(.es256)
        try await token.perform { session throws(TokenDefect) in
            try session.generate(kind.generation, label, public: kind.publicAttributes(modulusBits: 0))
        }
        // Another process, which has not found the key yet.
        let other = TokenKeyProvider(
            Token(module.settings(soft)), files: FileKeyProvider(directory: directory.path))
        await #expect(throws: KeyError.token(.severalKeys(label: label))) { try await other.signingKey(made) }
        #expect(KeyError.token(.severalKeys(label: label)).description.contains("remove all but one"))
    }

    @Test func `a session that hangs draws no calls from the others`() async throws {
        let record = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let key = try await provider.signingKey(record)
        for _ in 0..<32 { _ = try await key.signature(over: [1]) }
        try module.fail(with: .hangs)
        let hanging = key.beginSignature(over: [2])
        let start = ContinuousClock.now
        // Longer than a quick batch.
        while ContinuousClock.now - start < .milliseconds(50) { await Task.yield() }
        let answers = try await atOnce(32) { try await key.signature(over: [3]) }
        #expect(answers.allSatisfy { key.publicKey.verifies($0, of: [3], algorithm: .es256) })
        #expect(ContinuousClock.now - start < .seconds(4), "none waited for the deadline")
        try module.fail(with: nil)
        #expect(key.publicKey.verifies(try await hanging.value, of: [2], algorithm: .es256))
    }

    @Test func `of several sessions one tries a wrong PIN`() async throws {
        let wrong = Token(TokenSettings(module: module.path, token: soft.label, pin: "0000", sessions: 4))
        let provider = TokenKeyProvider(wrong, files: FileKeyProvider(directory: directory.path))
        try module.fail(with: .lockedPIN)
        _ = try await atOnce(16) {
            await #expect(throws: KeyError.token(.lockedPIN)) { try await provider.generateDeviceKey() }
        }
        #expect(try module.tries == 1)
    }

    @Test func `goes away and comes back`() async throws {
        try await KeyProviderConformance.comesBack(provider, working: .there) {
            try module.fail(with: .removed)
        } back: {
            try module.fail(with: nil)
        }
    }

    @Test func `waits for a slow provider`() async throws {
        try await KeyProviderConformance.waitsForASlowProvider(provider) {
            try module.fail(with: .slow)
        } fast: {
            try module.fail(with: nil)
        }
    }
}
