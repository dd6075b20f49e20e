import Foundation
import KeyModule
import NativeSSO
import Testing

@Suite("Installation of key files from a Kubernetes Secret")
struct KeyInstallationTests {
    private let directory: TemporaryDirectory
    private let secret: TemporaryDirectory
    private let provider: FileKeyProvider

    /// The directory of a Secret, as the kubelet makes it: links to a directory of one version, open to the group.
    init() async throws {
        directory = try TemporaryDirectory()
        secret = try TemporaryDirectory()
        provider = FileKeyProvider(directory: directory.file("keys"))
        let version = secret.file("..2026_11_22")
        try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: false)
        for record in try await FileKeyProvider(directory: version.madePrivate()).completeSet() {
            try secret.setMode(0o440, of: "..2026_11_22/\(record.reference)")
            try FileManager.default.createSymbolicLink(
                atPath: secret.file(record.reference), withDestinationPath: "..data/\(record.reference)")
        }
        try secret.setMode(0o755, of: "..2026_11_22")
        try FileManager.default.createSymbolicLink(atPath: secret.file("..data"), withDestinationPath: "..2026_11_22")
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.file("keys")).sorted() }
    }

    @Test func `the copies are private files that the provider accepts, and a second run changes nothing`() throws {
        let expected = try secret.names.filter { !$0.hasPrefix(".") }
        #expect(expected.count == 3)
        #expect(try provider.install(from: secret.path) == expected)
        #expect(try names == expected)
        #expect(try directory.mode(of: "keys") == 0o700)
        for name in expected {
            #expect(try directory.mode(of: "keys/\(name)") == 0o600)
            #expect(try directory.read("keys/\(name)") == secret.read(name))
        }
        try provider.check()
        #expect(try provider.install(from: secret.path) == [])
    }

    @Test func `another key of the same name is kept and reported`() throws {
        _ = try provider.install(from: secret.path)
        try directory.write([UInt8](repeating: 7, count: 32), to: "keys/device.key")
        #expect(throws: KeyError.file(path: directory.file("keys/device.key"), .differs)) {
            try provider.install(from: secret.path)
        }
        #expect(try directory.read("keys/device.key") == [UInt8](repeating: 7, count: 32))
    }

    @Test func `a directory without files, a missing one and a subdirectory are errors`() throws {
        let empty = try TemporaryDirectory()
        #expect(throws: KeyError.file(path: empty.path, .noKeys)) { try provider.install(from: empty.path) }
        let missing = empty.file("missing")
        #expect(throws: KeyError.file(path: missing, .missing)) { try provider.install(from: missing) }
        try FileManager.default.createDirectory(atPath: empty.file("inner"), withIntermediateDirectories: false)
        #expect(throws: KeyError.file(path: empty.file("inner"), .notRegularFile)) {
            try provider.install(from: empty.path)
        }
    }
}

extension String {
    /// The same path, once the directory is open to its owner alone.
    fileprivate func madePrivate() throws -> String {
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: self)
        return self
    }
}
