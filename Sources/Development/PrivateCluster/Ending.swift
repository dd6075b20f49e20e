/// Does the work and then `end`, whatever came of the work. Throws what went wrong first.
package func ending<Value>(
    _ work: () async throws -> Value, with end: () async throws -> Void
) async throws -> Value {
    let result: Result<Value, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    do {
        try await end()
    } catch {
        _ = try result.get()
        throw error
    }
    return try result.get()
}
