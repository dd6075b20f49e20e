import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// How programs say that they answer.
enum Readiness {
    /// What the identity provider and the servers write to standard output, once.
    static let line = "ready"
}

/// Waits for `GET /readyz` of a broker.
struct BrokerReadiness {
    /// Of its internal listener.
    let address: String

    /// Throws if the process ends, or has not become ready within 30 seconds.
    func wait(for process: SupervisedProcess) async throws {
        let trouble = try await withThrowingTaskGroup(of: String?.self) { group in
            group.addTask {
                while !(await answers()) { try await Task.sleep(for: .milliseconds(50)) }
                return nil
            }
            group.addTask {
                while await process.nextLine() != nil {}
                try Task.checkCancellation()
                return "has ended"
            }
            group.addTask {
                try await Task.sleep(for: .seconds(30))
                return "did not get ready within 30 s"
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        guard let trouble else { return }
        throw try await process.ended(because: trouble)
    }

    private func answers() async -> Bool {
        let request = HTTPClientRequest(url: address + "/readyz")
        guard let response = try? await PlainHTTP.client.execute(request, timeout: .seconds(2)) else { return false }
        return response.status == .ok
    }
}
