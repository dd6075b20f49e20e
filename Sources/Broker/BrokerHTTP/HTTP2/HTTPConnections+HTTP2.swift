import NIOCore
import NIOHTTP2

extension HTTPConnections {
    /// RFC 9113.
    func addHTTP2(to connection: Connection, _ origin: RequestOrigin) throws {
        let channel = connection.channel
        let (limits, date, requests) = (limits, date, connection.requests)
        let share = NIOLoopBound(BufferShare(budget), eventLoop: channel.eventLoop)
        let intake = FrameIntakeHandler(limit: limits.headerTimeout)
        let ending = HTTP2ConnectionHandler(
            limits: limits, counts: quota.counts, origin: origin, requests: requests, intake: intake)
        let boundEnding = NIOLoopBound(ending, eventLoop: channel.eventLoop)
        let frames = NIOHTTP2Handler(
            mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connectionConfiguration,
            streamConfiguration: streamConfiguration,
            streamDelegate: HTTP2ConnectionHandler.Streams(ending, eventLoop: channel.eventLoop)
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                guard !boundEnding.value.isEnding else { return }
                try stream.pipeline.syncOperations.addHandler(
                    StreamHandler(
                        limits: limits, origin: origin, share: share.value, date: date, requests: requests))
            }
        }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(intake)
        try pipeline.addHandler(WriteDeadlineHandler(limit: limits.writeTimeout, share: nil))
        try pipeline.addHandler(frames)
        try pipeline.addHandler(ending)
    }

    /// What a client may do that costs it less than us: CVE-2019-9511 to 9518, CVE-2023-44487 (streams that are reset as soon
    /// as they are opened), CVE-2024-27316 (headers without an end).
    private var connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: limits.headerSize),
            HTTP2Setting(parameter: .enablePush, value: 0),
        ]
        configuration.maximumSequentialEmptyDataFrames = 1
        configuration.maximumSequentialContinuationFrames = 4
        configuration.maximumBufferedControlFrames = 256
        configuration.maximumConnectionGlitches = 32
        configuration.controlFrameRateLimit.maximumCount = 200
        configuration.controlFrameRateLimit.windowLength = .seconds(30)
        return configuration
    }

    private var streamConfiguration: NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.streamResetFrameRateLimit.maximumCount = 100
        configuration.streamResetFrameRateLimit.windowLength = .seconds(30)
        configuration.streamErrorRateLimit.maximumCount = 32
        configuration.streamErrorRateLimit.windowLength = .seconds(30)
        return configuration
    }
}
