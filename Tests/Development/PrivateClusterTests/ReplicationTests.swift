import Foundation
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReplicationTests {
    @Test func aServerWithoutPrimaryIsNotPromoted() async throws {
        let cluster = try await PrivateCluster.shared
        let error = await #expect(throws: PrivateClusterError.self) { try await cluster.promote() }
        #expect(error?.description.contains("recovery is not in progress") == true)
    }

    @Test func aServerThatWasKilledIsGoneWithTheLastReference() async throws {
        var cluster: PrivateCluster? = try await PrivateCluster.start(options: .testing)
        let directory = try #require(cluster?.directory)
        try await cluster?.kill9()
        #expect(FileManager.default.fileExists(atPath: directory))
        cluster = nil
        #expect(!FileManager.default.fileExists(atPath: directory))
    }
}
