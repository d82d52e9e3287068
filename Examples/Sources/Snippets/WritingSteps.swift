import Foundation
import Trellis

/// The code of the page about steps.
enum WritingStepsPage {
    struct Timing: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            let start = ContinuousClock.now
            do {
                let answer = try await next(request)
                print(request.method, request.path, answer.response.status.code, ContinuousClock.now - start)
                return answer
            } catch {
                print(request.method, request.path, "failed:", error)
                throw error
            }
        }
    }

    struct Trace: RequestStep {
        let name: String
        let write: @Sendable (String) -> Void

        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            write("\(name) → \(request.method) \(request.url)")
            let answer = try await next(request)
            write("\(name) ← \(answer.response.status.code) from \(answer.response.url)")
            return answer
        }
    }

    struct FailureLog: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            let answer = try await next(request)
            guard answer.response.status.code >= 400, let body = answer.data else { return answer }
            let sent = request.body?.data.map { String(decoding: $0.prefix(1024), as: UTF8.self) } ?? "-"
            let received = String(decoding: body.prefix(1024), as: UTF8.self)
            print("call \(context.callID), attempt \(context.attempt): \(sent) → \(answer.response.status) \(received)")
            return answer
        }
    }

    struct Maintenance: RequestStep {
        let isOn: @Sendable () -> Bool

        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            guard isOn() else { return try await next(request) }
            return StepResponse(to: request, status: .serviceUnavailable, headers: [.retryAfter: "60"])
        }
    }

    static func addSteps(
        _ configuration: inout SessionConfiguration, _ write: @escaping @Sendable (String) -> Void
    ) -> Request {
        configuration.steps.application.append(Trace(name: "application", write: write))
        configuration.steps.network.append(Trace(name: "network", write: write))
        configuration.retry = RetryPolicy()
        configuration.eventMonitors = [RequestLog(.bodies(limit: 4096))]
        configuration.defaultHeaders["X-Client"] = "backup/1.0"  // the same in every request
        configuration.steps.adapters.append(  // another one in each attempt
            Adapter { request, _ in request.withHeader("X-Request-ID", UUID().uuidString) })
        let once = Request("https://api.example.com/").withSteps { $0.application.append(Timing()) }
        return once
    }
}
