import BrokerHarness
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) final class WorkingDirectoryTests {
    private let path = NSTemporaryDirectory() + "working-" + UUID().uuidString

    deinit { try? FileManager.default.removeItem(atPath: path) }

    @Test func itIsRemovedWithAllThatIsInIt() async throws {
        let directory = try WorkingDirectory(path)
        try directory.subdirectory("a/b")
        await directory.remove()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func itIsKeptOnRequest() async throws {
        let directory = try WorkingDirectory(path, isKept: true)
        let private_ = try directory.subdirectory("a")
        await directory.remove()
        let mode = try FileManager.default.attributesOfItem(atPath: private_)[.posixPermissions] as? Int
        #expect(mode == 0o700)
    }

    @Test func whatWasThereBeforeIsNotTouched() throws {
        try FileManager.default.createDirectory(atPath: path + "/mine", withIntermediateDirectories: true)
        #expect(throws: WorkingDirectory.NotEmpty.self) { try WorkingDirectory(self.path) }
        #expect(FileManager.default.fileExists(atPath: path + "/mine"))
    }

    @Test func eachTemporaryOneIsNew() async throws {
        let (one, two) = (try WorkingDirectory(named: "working"), try WorkingDirectory(named: "working"))
        #expect(one.path != two.path)
        await one.remove()
        await two.remove()
    }
}
