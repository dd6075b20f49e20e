import Foundation
import Glibc
import NativeSSO
import PostgresClient
import Testing

@testable import native_sso

/// What the broker remembers of the database, in a directory of its own.
@Suite struct MemoryFileTests {
    private static let contents = MemoryFile.Contents(
        broker: UniqueID(high: 1, low: 2), memory: DatabaseHistory.Memory(number: 7, acceptance: 1_764_000_000_000_000))

    private func withDirectory(_ body: (_ path: String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory.path)
    }

    private func write(_ contents: MemoryFile.Contents, to file: MemoryFile) async {
        let problem = await withCheckedContinuation { continuation in
            file.write(contents) { continuation.resume(returning: $0) }
        }
        #expect(problem == nil)
    }

    @Test func remembersOverAStart() async throws {
        try await withDirectory { path in
            let file = try MemoryFile(in: path)
            #expect(try file.read() == nil)
            for number in [1, Int64.max] {
                var contents = Self.contents
                contents.memory.number = number
                await write(contents, to: file)
                #expect(try MemoryFile(in: path).read() == contents)
            }
            // A broker that was killed while it wrote leaves the new file behind.
            try Data("00".utf8).write(to: URL(filePath: "\(path)/database.new"))
            await write(Self.contents, to: file)
            #expect(try MemoryFile(in: path).read() == Self.contents)
            #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["database"])
            let mode = try FileManager.default.attributesOfItem(atPath: "\(path)/database")[.posixPermissions]
            #expect(mode as? NSNumber == 0o600)
        }
    }

    /// A file that is cut off, or that another program wrote, might have said that the database has gone back.
    @Test(arguments: [
        "", "\n", "00000000-0000-0001-0000-000000000002 7 0", "00000000-0000-0001-0000-000000000002 7\n",
        "00000000-0000-0001-0000-000000000002 07 0\n", "00000000-0000-0001-0000-000000000002 +7 0\n",
        "00000000-0000-0001-0000-000000000002 -7 0\n", "00000000-0000-0001-0000-000000000002  7 0\n",
        "00000000-0000-0001-0000-000000000002 7 0\n\n", "00000000-0000-0001-0000-000000000002 9223372036854775808 0\n",
        "00000000-0000-0001-0000-00000000000A 7 0\n", "{}", String(repeating: "0", count: 200),
    ])
    func refusesWhatItDidNotWrite(text: String) async throws {
        try await withDirectory { path in
            try Data(text.utf8).write(to: URL(filePath: "\(path)/database"))
            let file = try MemoryFile(in: path)
            #expect(throws: MemoryFile.Failure.self) { try file.read() }
        }
    }

    @Test func followsNoLink() async throws {
        try await withDirectory { path in
            try await withDirectory { other in
                await write(Self.contents, to: try MemoryFile(in: other))
                #expect(symlink("\(other)/database", "\(path)/database") == 0)
                let file = try MemoryFile(in: path)
                #expect(throws: MemoryFile.Failure.self) { try file.read() }
                // It replaces the link, and not what the link names.
                #expect(symlink("\(other)/database", "\(path)/database.new") == 0)
                await write(MemoryFile.Contents(broker: UniqueID(high: 3, low: 4)), to: file)
                #expect(try MemoryFile(in: other).read() == Self.contents)
                #expect(link("\(other)/database", "\(path)/hard") == 0)
                #expect(throws: MemoryFile.Failure.self) { try MemoryFile(in: other).read() }
                #expect(symlink(other, "\(path)/directory") == 0)
                #expect(throws: MemoryFile.Failure.self) { try MemoryFile(in: "\(path)/directory") }
            }
        }
    }

    @Test func refusesADirectoryThatOthersMayWrite() async throws {
        try await withDirectory { path in
            #expect(chmod(path, 0o770) == 0)
            #expect(throws: MemoryFile.Failure.self) { try MemoryFile(in: path) }
            #expect(throws: MemoryFile.Failure.self) { try MemoryFile(in: "\(path)/missing") }
        }
    }
}
