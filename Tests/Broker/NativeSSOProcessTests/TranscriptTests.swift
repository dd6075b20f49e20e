import PrivateCluster
import Testing

@Suite("Transcripts", .timeLimit(.minutes(10)))
struct TranscriptTests {
    @Test(arguments: Transcript.all)
    func `the terminal shows what the transcript says`(name: String) async throws {
        let transcript = try Transcript(name)
        #expect(!transcript.steps.isEmpty)
        let cluster = try await PrivateCluster.shared
        let outputs = try await cluster.withDatabase { database in
            try await OperatorTerminal(cluster, database: database).replay(transcript.steps)
        }
        try transcript.expect(transcript.text(showing: outputs))
    }
}
