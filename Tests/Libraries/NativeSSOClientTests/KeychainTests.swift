import Foundation
import NativeSSOClient
import Testing

@Suite final class KeychainTests {
    private let path = NSTemporaryDirectory() + "keychain-" + UUID().uuidString
    private let key = [UInt8](repeating: 7, count: 32)

    deinit {
        for suffix in ["", ".lock", ".new"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    private func file() throws -> EncryptedFileKeychain { try EncryptedFileKeychain(path: path, key: key) }

    private func keychains() throws -> [any Keychain] { [InMemoryKeychain(), try file()] }

    @Test func anItemIsWrittenReplacedAndRemoved() async throws {
        for keychain in try keychains() {
            #expect(try await keychain.item("a") == nil)
            #expect(try await keychain.revision(of: "a") == nil)
            try await keychain.removeItem("a")
            try await keychain.setItem("a", [1, 2, 3])
            try await keychain.setItem("a", [4])
            try await keychain.setItem("b", [])
            #expect(try await keychain.item("a") == [4])
            #expect(try await keychain.item("b") == [])
            #expect(try await keychain.revision(of: "a") == ItemRevision(of: [4]))
            try await keychain.removeItem("a")
            #expect(try await keychain.item("a") == nil)
            #expect(try await keychain.item("b") == [])
        }
    }

    @Test func onlyTheRevisionThatWasReadIsReplaced() async throws {
        for keychain in try keychains() {
            #expect(try await keychain.replaceItem("a", nil, with: [1]))
            #expect(try await !keychain.replaceItem("a", nil, with: [2]))
            #expect(try await !keychain.replaceItem("a", ItemRevision(of: [2]), with: [3]))
            #expect(try await !keychain.replaceItem("a", ItemRevision(of: [2]), with: nil))
            #expect(try await keychain.item("a") == [1])
            #expect(try await keychain.replaceItem("a", ItemRevision(of: [1]), with: nil))
            #expect(try await keychain.item("a") == nil)
        }
    }

    /// Each value has an open file of its own, as another process has.
    @Test func noWriteOfSeveralWritersIsLost() async throws {
        try await withThrowingTaskGroup { group in
            for writer in 0..<8 {
                let keychain = try file()
                group.addTask {
                    for count in 0..<10 {
                        var isDone = false
                        while !isDone {
                            let old = try await keychain.item("all")
                            isDone = try await keychain.replaceItem(
                                "all", old.map(ItemRevision.init), with: (old ?? []) + [UInt8(writer * 10 + count)])
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await file().item("all")?.sorted() == Array(0..<80))
    }

    @Test func aWriterWaitsForAnother() async throws {
        let keychain = try file()
        try await keychain.setItem("a", [1])
        let lock = open(path + ".lock", O_RDWR)
        try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
        let writing = Task { try await keychain.setItem("a", [2]) }
        let inode = try #require(
            try FileManager.default.attributesOfItem(atPath: path + ".lock")[.systemFileNumber] as? Int)
        // The kernel lists the processes that wait.
        while try !String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").contains(where: {
            $0.contains("->") && $0.contains(":\(inode) ")
        }) { await Task.yield() }
        close(lock)
        try await writing.value
        #expect(try await keychain.item("a") == [2])
    }

    @Test func theFileIsPrivateAndHoldsNoSecretInClear() async throws {
        try await file().setItem("name", Array("secret-value".utf8))
        let content = try Data(contentsOf: URL(filePath: path))
        #expect(content.range(of: Data("secret-value".utf8)) == nil && content.range(of: Data("name".utf8)) == nil)
        for suffix in ["", ".lock"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test func aFileThatOthersMayReadIsRefused() async throws {
        try await file().setItem("a", [1])
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        await #expect(throws: EncryptedFileKeychain.Failure.notPrivate) { try await file().item("a") }
    }

    @Test func anotherKeyReadsNothingAndOverwritesNothing() async throws {
        try await file().setItem("a", [1])
        let other = try EncryptedFileKeychain(path: path, key: [UInt8](repeating: 8, count: 32))
        await #expect(throws: EncryptedFileKeychain.Failure.undecipherable) { try await other.item("a") }
        await #expect(throws: EncryptedFileKeychain.Failure.undecipherable) { try await other.setItem("a", [2]) }
        #expect(try await file().item("a") == [1])
        #expect(throws: EncryptedFileKeychain.Failure.keyLength) { try EncryptedFileKeychain(path: path, key: [1]) }
    }

    /// Every octet counts, and so does every length.
    @Test func aDamagedOrHalfWrittenFileIsNamedAndKept() async throws {
        try await file().setItem("a", [1])
        let whole = try Data(contentsOf: URL(filePath: path))
        for place in whole.indices where place != 7 {
            var damaged = whole
            damaged[place] ^= 1
            try write(damaged)
            await #expect(throws: EncryptedFileKeychain.Failure.undecipherable) { try await file().item("a") }
            try write(whole.prefix(place))
            await #expect(throws: EncryptedFileKeychain.Failure.undecipherable) { try await file().setItem("a", [2]) }
            #expect(try Data(contentsOf: URL(filePath: path)) == whole.prefix(place))
        }
        var newer = whole
        newer[7] = 2
        try write(newer)
        await #expect(throws: EncryptedFileKeychain.Failure.newerVersion) { try await file().setItem("a", [2]) }
    }

    /// The crash of a writer.
    @Test func aFileThatWasNotFinishedIsNoObstacle() async throws {
        try await file().setItem("a", [1])
        try Data([0]).write(to: URL(filePath: path + ".new"))
        #expect(try await file().item("a") == [1])
        try await file().setItem("a", [2])
        #expect(try await file().item("a") == [2])
    }

    private func write(_ data: Data) throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: data)
        try handle.close()
    }
}
