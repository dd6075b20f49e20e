import Foundation
import JOSE
@testable import KeyModule
import NativeSSO
import Synchronization
import Testing

@Suite("Where a private number lies in memory", .serialized)
struct SecretMemoryTests {
    /// Of the private number of ``pem``, which begins with a zero, the next sixteen octets. Each is inverted, so that this constant
    /// is not the number.
    private static let inverted: [UInt8] = [
        0x1e, 0x0f, 0x4c, 0xba, 0x8d, 0x38, 0x92, 0xac, 0x3e, 0x1e, 0x6a, 0x14, 0xcd, 0x2c, 0x7d, 0xef,
    ]

    private static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAOHws0Vyx21TweGV
        6zLTghCkxb9+OzvQ7hbu96mVy+OhRANCAAQpfZlrqRWNl7uY/UnNi2Ck4TFD4p+A
        Qq2L41fjmi3cEBhvzyNentqwSSBMgzsVf6ILGuiwNnOkzifRgJ7IgKWZ
        -----END PRIVATE KEY-----

        """

    /// In the locked heap, which the search leaves out. In the order of the file, or turned round as libraries hold numbers.
    private static func number(isReversed: Bool) throws -> SecureBytes {
        let inverted = isReversed ? inverted.reversed() : inverted
        return try SecureBytes(capacity: inverted.count) { octets in
            for (index, octet) in inverted.enumerated() { octets[index] = ~octet }
            return inverted.count
        }
    }

    /// The mappings of this process that can be written to, without the one of `secret`.
    private static func mappings(without secret: SecureBytes) throws -> [Range<UInt64>] {
        let secret = secret.withUnsafeBytes { UInt64(UInt(bitPattern: $0.baseAddress)) }
        let lines = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n")
        return lines.compactMap { line in
            let fields = line.split(separator: " ")
            let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard fields[1].hasPrefix("rw"), ends.count == 2, !(ends[0]..<ends[1]).contains(secret) else { return nil }
            return ends[0]..<ends[1]
        }
    }

    /// Where the number lies outside the locked heap.
    private static func copies() throws -> [UInt64] {
        let numbers = [try number(isReversed: false), try number(isReversed: true)]
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        try #require(memory >= 0)
        defer { close(memory) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var found: [UInt64] = []
        for mapping in try mappings(without: numbers[0]) {
            var start = mapping.lowerBound
            // The last read of a mapping is shorter than a number.
            while true {
                let count = pread(
                    memory, buffer.baseAddress, min(buffer.count, Int(mapping.upperBound - start)), off_t(start))
                guard count >= inverted.count else { break }
                for number in numbers {
                    let places = occurrences(of: number, in: UnsafeRawBufferPointer(buffer)[..<count])
                    found += places.map { start + UInt64($0) }
                }
                buffer.initializeMemory(as: UInt8.self, repeating: 0)
                start += UInt64(count - inverted.count + 1)
            }
        }
        return found
    }

    private static func occurrences(of number: SecureBytes, in memory: Slice<UnsafeRawBufferPointer>) -> [Int] {
        number.withUnsafeBytes { number in
            var rest = UnsafeRawBufferPointer(rebasing: memory)
            var found: [Int] = []
            while let start = rest.baseAddress, let hit = memchr(start, Int32(number[0]), rest.count) {
                rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(hit) - start)...])
                if rest.starts(with: number) { found.append(memory.count - rest.count) }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
            }
            return found
        }
    }

    /// OpenSSL frees a copy without overwriting it when it reads a file. New blocks take its place.
    private static func overwriteFreeMemory() {
        let blocks = (0..<20_000).map { index in
            let size = 16 + 16 * (index % 64)
            let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            block.initializeMemory(as: UInt8.self, repeating: 0xa5, count: size)
            return block
        }
        for block in blocks { block.deallocate() }
    }

    /// Runs `work` on a thread that then waits, so that nothing overwrites what `work` left on its stack. Finds the copies.
    private static func copies<Made: Sendable>(
        after work: @escaping @Sendable () throws -> Made
    ) throws -> (found: [UInt64], made: Made) {
        let (isDone, isSeen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let made = Mutex<Result<Made, any Error>?>(nil)
        Thread.detachNewThread {
            let result = Result(catching: work)
            made.withLock { $0 = result }
            isDone.signal()
            isSeen.wait()
        }
        isDone.wait()
        defer { isSeen.signal() }
        return (try copies(), try #require(made.withLock { $0 }).get())
    }

    @Test func `it lies in the locked heap only, when a key was loaded and has signed`() async throws {
        let message = Array("message".utf8)
        let (found, (key, signature)) = try Self.copies {
            let read = try PrivateKeyPEM.decode(try SecureBytes(Self.pem))
            Self.overwriteFreeMemory()
            let key = try P256SigningKey(read)
            return (key, key.beginSignature(over: message))
        }
        #expect(found.isEmpty)
        #expect(key.publicKey.verifies(try await signature.result.get(), of: message, algorithm: .es256))
    }

    @Test func `OpenSSL signs with the same key`() async throws {
        let key = try EVPSigningKey(try PrivateKeyPEM.decode(try SecureBytes(Self.pem)), algorithm: .es256)
        let message = Array("message".utf8)
        #expect(key.publicKey.verifies(try await key.signature(over: message), of: message, algorithm: .es256))
    }

    @Test func `a copy elsewhere is found`() throws {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.inverted.count, alignment: 1)
        defer { copy.deallocate() }
        for (index, octet) in Self.inverted.enumerated() { copy[index] = ~octet }
        let place = UInt64(UInt(bitPattern: copy.baseAddress))
        #expect(try Self.copies().contains(place))
        copy.initializeMemory(as: UInt8.self, repeating: 0)
        // Other copies come and go: OpenSSL frees some without overwriting them, and the search reads its own buffer, too.
        #expect(try !Self.copies().contains(place))
    }
}
